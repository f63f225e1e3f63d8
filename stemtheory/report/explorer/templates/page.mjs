// The page: sliders and boxes hold a state, four views show it, the address's fragment keeps it.
import { advise, offerAt } from "./advice.mjs";
import { drawFalls, fallsFrame } from "./falls.mjs";
import { canvasPen, decades, outlined, scalesOf } from "./pens.mjs";
import { commandsOf, csvOf, svgOf } from "./saving.mjs";
import { $, BOUNDS, bounds, boundSetting, costOf, data, fallsOf, follow, known, questionOf, reached,
  READINGS, runSetting, shown, silent, unmet, withBatch } from "./setting.mjs";
import { drawSurface, pointAt, surfaceFrame, surfaceOf } from "./surface.mjs";

/** @typedef {(number | null)[]} Values */
/** @typedef {{name: string, label: string, colour: string, dash: number[], values: Values,
 *   unmet: Values}} Line  what a bound says where its premises are unmet is grey */

const Plot = /** @type {any} */ (globalThis).uPlot;
const [TICKS, HEIGHT] = [240, 380];
const lengths = Array.from({ length: 121 }, (_, i) => 10 ** (i / 10)); // T
const targets = Array.from({ length: 33 }, (_, i) => 10 ** (-8 + i / 4)); // epsilon
const [form, canvas] = [$("dials"), $("surface")];
/** @type {any} */
const usual = { ...data.choices };
for (const [name, dial] of Object.entries(data.dials)) usual[name] = dial.usual;
let state = { ...usual };
/** @type {Record<string, any>} */
const views = {};
let probe = { b: 4, I: 3 };
let [work, pending, hovered, begun] = [0, 0, 0, 0];

/** @param {string} name @returns {string} a colour of the page's style */
const style = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
/** @param {string} name @param {number[]} xs @returns {Line} */
const line = (name, xs) => ({
  name, ...data.looks[name], values: xs.map(() => null), unmet: xs.map(() => null),
});

/** Show curves by uPlot. @param {string} id @param {object} given */
function show(id, given) {
  const view = (views[id] = { ...views[id], ...given });
  /** @type {Line[]} */
  const lines = view.lines;
  const drawn = lines.flatMap((l) => [l.values, l.unmet]);
  const most = id === "moments" ? 2e8 * state.L * state.gap : Infinity; // what diverges leaves
  const columns = [view.xs, ...drawn.map((one) => one.map((v) => (v && v < most ? v : null)))];
  if (view.plot) return void view.plot.setData(columns);
  /** @param {string} label @returns {any} */
  const axis = (label) => ({
    label, size: 58, stroke: () => style("--ink"), grid: { stroke: () => style("--line"), width: 1 },
    splits: (/** @type {any[]} */ ...[, side, low, high]) =>
      decades([low, high], side ? 9 : $(id).clientWidth / 60).map((d) => 10 ** d),
    filter: (/** @type {any[]} */ ...[, at]) => at,
    values: (/** @type {any[]} */ ...[, at]) =>
      at.map((/** @type {number} */ v) => `1e${Math.round(Math.log10(v))}`),
  });
  const series = lines.flatMap((l) => [
    { stroke: l.colour, width: 2, dash: l.dash, spanGaps: true, points: { show: false } },
    { stroke: () => style("--grey"), width: 1, dash: [3, 4], points: { show: false } },
  ]);
  /** @type {any} */
  const options = {
    width: $(id).clientWidth, height: HEIGHT, legend: { show: false }, series: [{}, ...series],
    axes: [axis(view.xLabel), axis(view.yLabel)],
    scales: { x: { time: false, distr: 3 }, y: { distr: 3, range: decade } },
    hooks: {
      setCursor: [(/** @type {any} */ plot) => hover(id, plot.cursor.idx)],
      draw: [() => id === "moments" && begun && performance.measure("curves", { start: begun })],
    },
  };
  view.plot = new Plot(options, columns, $(id));
}
/** The decades around what is drawn. @param {any[]} ends */
const decade = (...[, low, high]) =>
  [10 ** Math.floor(Math.log10(low || 1e-3)), 10 ** Math.ceil(Math.log10(high || 1))];

// View (a): moments and bounds over T.
function drawBounds() {
  begun = performance.now();
  const lines = [...[...READINGS].reverse(), ...BOUNDS, "start"].map((name) => line(name, lengths));
  for (const { name, values, unmet: grey } of lines) {
    if (name === "start") values.fill(2 * state.L * state.gap);
    if (!bounds[name]) continue;
    lengths.forEach((T, i) => {
      const s = boundSetting(state, name, T);
      (unmet(state, name, s).length ? grey : values)[i] = bounds[name].value(s);
    });
  }
  show("moments", { xs: lengths, lines, xLabel: "iterations T", yLabel: "mean squared gradient" });
}
/** All readings; those with a large map for every T at fewer of them. */
function* followAll() {
  begun = 0; // only what was just asked for is measured
  const dense = state.place === "fixed" || state.model === "tilt";
  const asked = lengths.map((_, i) => i).filter((i) => dense || i % 4 === 0);
  for (const one of views.moments.lines.slice(0, READINGS.length)) {
    const values = yield* follow(state, one.name, asked.map((i) => lengths[i]));
    asked.forEach((i, k) => (one.values[i] = values[k]));
    yield;
  }
  show("moments", {});
}
/** The table beside the curves: their values at T. @param {number} T */
function* tell(T) {
  /** @type {any[][]} */
  const rows = [];
  const followed = state.model === "waves" ? "one run, nothing is random" : "exact moments";
  for (const name of READINGS) {
    const s = runSetting(state, name, T);
    const [value] = yield* follow(state, name, [T]);
    const steps = data.steps[name === "fedavg" ? name : state.steps];
    rows.push([name, s, value, steps, silent(state, name, s) || followed, value === null]);
  }
  for (const { name, value, spoken } of Object.values(bounds)) {
    const s = boundSetting(state, name, T);
    const fails = unmet(state, name, s).join("; ");
    rows.push([name, s, value(s), spoken, fails ? `not met: ${fails}` : "met", fails]);
  }
  $("at").textContent = `At T = ${shown(T)}`;
  $("values").innerHTML = rows.map(([name, s, value, steps, why, grey]) => `<tr class="${grey ? "grey" : ""}">
    <th scope="row"><span class="swatch" style="background: ${data.looks[name].colour}"></span>
    <a href="#entry-${name}">${data.looks[name].label}</a></th><td class="n">${shown(value)}</td>
    <td class="n">${shown(s.b)}</td><td class="n">${shown(s.I)}</td>
    <td>${withBatch(steps, s.sync_batch)}</td><td class="why">${why}</td></tr>`,
  ).join("");
}
/** @param {string} id @param {number | null | undefined} index of what the pointer is over */
function hover(id, index) {
  if (id === "moments") {
    const T = lengths[index ?? -1] ?? state.T;
    const { begun: asked, done } = document.body.dataset;
    if (T !== hovered && asked === done) begin(tell((hovered = T))); // not amid other work
  } else if (index !== null && index !== undefined) {
    const told = views[id].lines.map(
      (/** @type {Line} */ l) => `${l.label} ${shown(l.values[index] ?? l.unmet[index])}`);
    $("epsilon-at").textContent = `At epsilon = ${shown(targets[index])}: ${told.join(", ")}.`;
  }
}

// View (b): the surface. View (c): what epsilon takes, by every bound.
function findSurface() {
  const start = performance.now();
  const { choice, offers } = advise(known, questionOf(state));
  const own = offers.find((offer) => offer.algorithm === state.algorithm) ?? null;
  const found = surfaceOf(known, questionOf(state), state.algorithm, state.quantity, own);
  views.surface = { ...found, draw: drawSurface, frame: surfaceFrame };
  paintSurface();
  performance.measure("surface", { start });
  const { corner } = views.surface;
  const line = corner ? ` Dashed: the corner b I = sqrt(S)/K = ${shown(corner)}.` : "";
  $("choice").textContent = choice
    ? `The adviser's choice of all algorithms: ${choice.algorithm} with b = ${choice.b},` +
      ` I = ${choice.I}, T = ${shown(choice.T)}: ${costs(choice)}.${line}`
    : `No advice: the start has 2 L gap = ${shown(2 * state.L * state.gap)}, at most epsilon, or` +
      " everything is free.";
  tellProbe();
}
/** Draw a view on the canvas of its name. @param {string} id */
function paint(id) {
  const [place, view, ratio] = [$(id), views[id], devicePixelRatio || 1];
  const [width, height] = [place.clientWidth, place.clientHeight];
  [place.width, place.height] = [width * ratio, height * ratio];
  const context = place.getContext("2d");
  context.scale(ratio, ratio);
  const [frame, pen] = [view.frame(view, width, height), canvasPen(context)];
  view.draw(pen, view, frame, style("--ink"), style("--line"));
  return { pen, at: scalesOf(frame) };
}
function paintSurface() {
  const { pen, at } = paint("surface");
  const [x, y] = [at.x(probe.b), at.y(probe.I)];
  const diamond = [[x - 6, y], [x, y - 6], [x + 6, y], [x, y + 6], [x - 6, y]];
  outlined(pen, /** @type {any} */ (diamond), [["#fff", 3], ["#000", 1.5]]);
}
/** @param {import("./advice.mjs").Offer} offer @returns {string} */
const costs = (offer) =>
  `${shown(offer.rounds)} rounds, ${shown(offer.samples)} samples of a worker, cost` +
  ` ${shown(offer.cost)}, by ${offer.bound} (steps ${withBatch(bounds[offer.bound].spoken, offer.m)})`;
function tellProbe() {
  const offer = offerAt(known, questionOf(state), state.algorithm, probe.b, probe.I);
  $("probe").textContent = `b = ${probe.b}, I = ${probe.I}: ${
    offer ? `T = ${shown(offer.T)}, ${costs(offer)}` : "no bound proves that a run gets there"}`;
}
function* drawEpsilon() {
  const lines = BOUNDS.map((name) => line(name, targets));
  for (const { name, values, unmet: grey } of lines) {
    targets.forEach((epsilon, i) => {
      const s = reached(state, name, epsilon);
      if (!s) return;
      (unmet(state, name, s).length ? grey : values)[i] = costOf(state, name, s)[state.measure];
    });
    yield;
  }
  views.epsilon?.plot.destroy(); // its axis may mean something else now
  const labels = { xLabel: "accuracy epsilon", yLabel: `${state.measure} of a worker` };
  show("epsilon", { xs: targets, lines, plot: null, ...labels });
}

// View (d): the waterfall of slack.
function drawSlack() {
  views.slack = { ...fallsOf(state), draw: drawFalls, frame: fallsFrame };
  paint("slack");
  const { s, falls } = views.slack;
  $("slack-at").textContent = `At K = ${s.K}, b = ${s.b}, I = ${shown(s.I)}, S = ${shown(s.T / s.I)}`;
  $("falls").innerHTML = falls.map((/** @type {any} */ fall, /** @type {number} */ i) => `<tr>
    <th scope="row"><a href="#entry-${fall.entry}">${fall.step}</a></th><td>${fall.claim}</td>
    <td class="n">${shown(fall.value)}</td>
    <td class="n">${i ? shown(falls[i - 1].value / fall.value) : ""}</td></tr>`).join("");
}

// The controls: slider, box and state hold one number.
/** @param {string} name @param {number} position @returns {number} */
function valueAt(name, position) {
  const { low, high, whole, zero } = data.dials[name];
  if (zero && position <= 0) return 0;
  const value = low > 0 ? low * (high / low) ** (position / TICKS) : low + (high - low) * (position / TICKS);
  return whole ? Math.round(value) : Number(value.toPrecision(3));
}
/** @param {string} name @param {number} value @returns {number} */
function positionOf(name, value) {
  const { low, high } = data.dials[name];
  if (value <= low) return 0;
  const part = low > 0 ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return TICKS * part;
}
/** What a control may hold, nothing otherwise. @param {string} name @param {any} text */
function read(name, text) {
  const [dial, number] = [data.dials[name], Number(text)];
  if (!dial) return [...(form.elements[name]?.options ?? [])].find((o) => o.value === text)?.value;
  const above = number >= dial.low || (dial.zero && number === 0);
  const fits = text !== "" && above && number <= dial.high;
  return fits && (!dial.whole || Number.isInteger(number)) ? number : null;
}
function reflect() {
  for (const name of Object.keys(data.dials)) {
    const [slider, box] = [$(`slide-${name}`), $(`box-${name}`)];
    // a slider that means this number already stays where the keyboard put it
    const stays = valueAt(name, Number(slider.value)) === state[name];
    if (!stays) slider.value = String(positionOf(name, state[name]));
    slider.setAttribute("aria-valuetext", shown(state[name]));
    if (document.activeElement !== box) box.value = String(state[name]);
  }
  for (const name of Object.keys(data.choices)) form.elements[name].value = state[name];
  for (const name of ["b", "I"]) $(`dial-${name}`).hidden = state.place !== "fixed";
  $("dial-nu").hidden = state.place === "fixed";
  for (const it of document.querySelectorAll("pre")) it.textContent = commandsOf(it.id.split("-")[1], state);
}
/** @param {object} changes @param {object} from */
function change(changes, from = state) {
  state = { ...from, ...changes };
  clearTimeout(pending);
  const changed = Object.entries(state).filter(([name, value]) => value !== usual[name]);
  // an address that is given meanwhile stays
  const [was, now] = [location.hash, `#${new URLSearchParams(changed)}`];
  pending = setTimeout(() => location.hash === was && history.replaceState(null, "", now), 200);
  hovered = state.T;
  document.body.dataset.begun = String(work + 1);
  reflect();
  begin(everything());
}
function* everything() {
  drawBounds();
  yield true;
  yield* followAll();
  yield* tell(state.T);
  findSurface();
  yield;
  yield* drawEpsilon();
  drawSlack();
  document.body.dataset.done = document.body.dataset.begun;
}
/** Work in slices, so that no slider waits for it; what was asked before ends.
 * @param {Generator<any, any>} steps */
function begin(steps) {
  const mine = (work += 1);
  const slice = () => {
    const end = performance.now() + 12;
    while (mine === work && performance.now() < end) {
      const { done, value } = steps.next();
      if (done) return;
      if (value) break; // the browser draws first
    }
    if (mine === work) setTimeout(slice);
  };
  requestAnimationFrame(slice);
}
function fromFragment() {
  const given = [...new URLSearchParams(location.hash.slice(1))];
  const fits = given.map(([name, text]) => [name, read(name, text)]).filter(([, v]) => (v ?? null) !== null);
  change(Object.fromEntries(fits), usual);
}
/** @param {string} id @param {string} kind of file */
function save(id, kind) {
  const [link, view, copy] = [document.createElement("a"), views[id], document.createElement("canvas")];
  const text = kind === "csv" ? csvOf(view, state.quantity) : svgOf(view, $(`title-${id}`).textContent);
  link.href = `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`;
  if (kind === "png") {
    const drawn = view.draw ? $(id) : view.plot.ctx.canvas;
    [copy.width, copy.height] = [drawn.width, drawn.height];
    const context = /** @type {CanvasRenderingContext2D} */ (copy.getContext("2d"));
    canvasPen(context).rect(0, 0, copy.width, copy.height, style("--paper"));
    context.drawImage(drawn, 0, 0);
    link.href = copy.toDataURL("image/png");
  }
  link.download = `explorer-${id}.${kind}`;
  link.click();
}
form.addEventListener("input", (/** @type {any} */ { target }) => {
  const { name, type, value: text } = target;
  const value = type === "range" ? valueAt(name, Number(text)) : read(name, text);
  target.setAttribute("aria-invalid", String(value === null));
  if (value !== null) change({ [name]: value });
});
document.addEventListener("click", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const { save: kind, view, copy, case: number } = target.dataset;
  if (kind && view) save(view, kind);
  if (copy) getSelection()?.selectAllChildren($(`commands-${copy}`));
  if (copy) navigator.clipboard?.writeText($(`commands-${copy}`).textContent);
  if (number) change(data.cases[Number(number)].state, usual);
  const link = target.closest('a[href^="#"]');
  if (link) {
    event.preventDefault(); // the fragment is the setting's
    const place = $(String(link.getAttribute("href")).slice(1));
    place.open = true;
    place.scrollIntoView();
    (place.querySelector("summary") ?? place).focus();
  }
});
canvas.addEventListener("pointermove", (/** @type {any} */ { offsetX, offsetY }) => {
  const frame = surfaceFrame(views.surface, canvas.clientWidth, canvas.clientHeight);
  probe = pointAt(frame, offsetX, offsetY) ?? probe;
  tellProbe();
});
canvas.addEventListener("keydown", (/** @type {any} */ event) => {
  /** @type {Record<string, ["b" | "I", number]>} */
  const ways = { ArrowLeft: ["b", 0], ArrowRight: ["b", 1], ArrowDown: ["I", 0], ArrowUp: ["I", 1] };
  if (!(event.key in ways)) return;
  event.preventDefault();
  const [name, up] = ways[event.key];
  const moved = up ? Math.ceil(probe[name] * 1.2) : Math.max(1, Math.floor(probe[name] / 1.2));
  probe = { ...probe, [name]: moved };
  tellProbe();
  paintSurface();
});
addEventListener("hashchange", fromFragment);
addEventListener("resize", () => {
  const width = $("moments").clientWidth;
  for (const id of ["moments", "epsilon"]) views[id]?.plot.setSize({ width, height: HEIGHT });
  if (views.surface) paintSurface();
  if (views.slack) paint("slack");
});
fromFragment();
