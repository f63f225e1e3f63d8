(function () {
  // a place that a link points at may lie in a closed part
  function reveal() {
    var place = location.hash && document.getElementById(location.hash.slice(1));
    for (var at = place; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") { at.open = true; }
    }
    if (place) { place.scrollIntoView(); }
  }
  function cues() {
    document.querySelectorAll(".wide").forEach(function (box) {
      box.previousElementSibling.classList.toggle("needed", box.scrollWidth > box.clientWidth + 1);
    });
  }
  window.addEventListener("hashchange", reveal);
  window.addEventListener("resize", cues);
  document.addEventListener("toggle", cues, true);
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (part) { part.open = true; });
  });
  reveal();
  cues();
})();
