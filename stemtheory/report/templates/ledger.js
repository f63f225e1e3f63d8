(function () {
  var form = document.querySelector(".controls");
  var table = document.querySelector(".ledger");
  var rows = Array.from(table.tBodies[0].rows);
  var cards = Array.from(document.querySelectorAll("article"));
  function text(node) { return node.textContent.toLowerCase(); }
  var words = new Map(rows.concat(cards).map(function (node) { return [node, text(node)]; }));
  function fits(node) {
    var d = node.dataset, f = form.elements;
    return (!f.section.value || d.section === f.section.value)
      && (!f.verdict.value || d.verdict.split(" ").indexOf(f.verdict.value) >= 0)
      && (!f.unexpected.checked || d.unexpected === "1")
      && f.text.value.toLowerCase().split(/\s+/).every(function (word) {
        return words.get(node).indexOf(word) >= 0;
      });
  }
  function filter() {
    var kept = new Set();
    rows.forEach(function (row) {
      row.hidden = !fits(row);
      if (!row.hidden) { kept.add(row.dataset.claim); }
    });
    cards.forEach(function (card) {
      card.hidden = !(kept.has(card.dataset.claim) || fits(card));
    });
    var asked = form.elements.unexpected.checked || ["section", "verdict", "text"].some(
      function (name) { return form.elements[name].value !== ""; });
    document.querySelectorAll("section").forEach(function (section) {
      var own = section.querySelectorAll("article");
      if (asked && own.length > 0) { section.querySelector("details").open = true; }
      section.hidden = own.length > 0 && !section.querySelector("article:not([hidden])");
    });
    var n = rows.filter(function (row) { return !row.hidden; }).length;
    form.elements.count.value = n + " of " + rows.length + " rows";
  }
  function key(row, column) {
    var cell = row.cells[column];
    if (cell.dataset.value === undefined) { return cell.textContent; }
    return cell.dataset.value === "" ? Infinity : Number(cell.dataset.value);
  }
  function sort(head) {
    var up = head.getAttribute("aria-sort") !== "ascending";
    Array.from(head.parentNode.cells).forEach(function (cell) {
      cell.setAttribute("aria-sort", "none");
    });
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.slice().sort(function (a, b) {
      var x = key(a, head.cellIndex), y = key(b, head.cellIndex);
      var order = typeof x === "number" ? x - y || 0 : x.localeCompare(y, "en", {numeric: true});
      return up ? order : -order;
    }).forEach(function (row) { table.tBodies[0].appendChild(row); });
  }
  Array.from(table.tHead.rows[0].cells).forEach(function (head) {
    head.addEventListener("click", function () { sort(head); });
  });
  form.addEventListener("input", filter);
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  filter();
})();
