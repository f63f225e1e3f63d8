// The surface of rounds, samples or cost over (b, I): what a bound proves at every point.
import { offerAt, startAt } from "./advice.mjs";
import { promisedOnCurve } from "./bounds.mjs";
import { contour, drawAxes, MARGIN, outlined, scalesOf } from "./pens.mjs";

/** @typedef {import("./advice.mjs").Known} Known */
/** @typedef {import("./advice.mjs").Offer} Offer */
/** @typedef {import("./advice.mjs").Question} Question */
/** @typedef {"rounds" | "samples" | "cost"} Quantity */
/** @typedef {{grid: (number | null)[][], choice: Offer | null, corner: number | null,
 *   curve: {b: number, I: number}[], quantity: Quantity, ends: [number, number],
 *   batches: number[], locals: number[]}} Surface */

const [COLUMNS, ROWS] = [41, 33];
const COLOURS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

/** @param {Known} known @param {Question} q @param {string} algorithm
 * @param {Quantity} quantity @param {Offer | null} choice  its cheapest offer @returns {Surface} */
export function surfaceOf(known, q, algorithm, quantity, choice) {
  const [{ K, epsilon }, start] = [q, startAt(q, 1, 1)];
  const offered = known.offered.bounds[algorithm];
  // the corollary for the steps of the choice, as the adviser takes it
  const name = offered.find((one) => one === choice?.bound && known.bounds[one].steps !== "theorem");
  const bound = known.bounds[name ?? offered[0]];
  const curve = known.offered.nus
    .map((nu) => promisedOnCurve(bound, epsilon, start, nu))
    .flatMap((s) => (s ? [{ b: s.b, I: s.I }] : []));
  const batches = axis(curve.map(({ b }) => b), 6, COLUMNS);
  const locals = axis(curve.map(({ I }) => I), 5, ROWS);
  const grid = locals.map((I) =>
    batches.map((b) => offerAt(known, q, algorithm, Math.round(b), Math.round(I))?.[quantity])
      .map((amount) => (amount ? Math.log10(amount) : null)),
  );
  const values = grid.flat().filter((v) => v !== null).map(Number);
  const middle = algorithm === "stem" ? promisedOnCurve(bound, epsilon, start, 0.5) : null;
  const corner = middle && Math.sqrt(middle.T / middle.I) / K;
  const ends = /** @type {[number, number]} */ ([Math.min(...values), Math.max(...values)]);
  return { grid, batches, locals, choice, quantity, corner, curve, ends };
}

/** From 1 to a decade beyond all of ``values``, at least two and at most ``most`` of them.
 * @param {number[]} values @param {number} most @param {number} n @returns {number[]} */
function axis(values, most, n) {
  const decade = Math.min(most, Math.max(2, 1 + Math.ceil(Math.log10(Math.max(1, ...values)))));
  return Array.from({ length: n }, (_, i) => 10 ** ((decade * i) / (n - 1)));
}

/** @param {number} share @returns {string} */
function colourOf(share) {
  const at = Math.min(3.999, 4 * share);
  const [low, high, part] = [COLOURS[Math.floor(at)], COLOURS[Math.floor(at) + 1], at % 1];
  return `rgb(${low.map((v, i) => Math.round(v + part * (high[i] - v))).join(" ")})`;
}

/** The frame of the surface. @param {Surface} surface @param {number} width
 * @param {number} height @returns {import("./pens.mjs").Frame} */
export function surfaceFrame({ batches, locals }, width, height) {
  const [x, y] = [batches, locals].map((values) => {
    const half = Math.sqrt(values[1]);
    return /** @type {[number, number]} */ ([1 / half, values[values.length - 1] * half]);
  });
  return { x, y, width, height, xLabel: "minibatch b", yLabel: "local steps I" };
}

/** @param {import("./pens.mjs").Pen} pen @param {Surface} surface
 * @param {import("./pens.mjs").Frame} frame @param {string} ink @param {string} empty */
export function drawSurface(pen, surface, frame, ink, empty) {
  const { grid, batches, locals, choice, corner, curve, ends: [low, high] } = surface;
  const at = scalesOf(frame);
  const [wide, tall] = [Math.sqrt(batches[1]), Math.sqrt(locals[1])];
  grid.forEach((row, j) =>
    row.forEach((v, i) => {
      const [left, right] = [at.x(batches[i] / wide), at.x(batches[i] * wide)];
      const [top, bottom] = [at.y(locals[j] * tall), at.y(locals[j] / tall)];
      const colour = v === null ? empty : colourOf(high > low ? (v - low) / (high - low) : 0.5);
      pen.rect(left, top, right - left + 0.6, bottom - top + 0.6, colour);
    }),
  );
  /** @param {number[]} spot @returns {[number, number]} */
  const place = ([i, j]) => [at.x(batches[1] ** i), at.y(locals[1] ** j)];
  const stride = Math.max(0.25, Math.ceil((high - low) / 8));
  for (let level = Math.ceil(low / stride) * stride; level <= high; level += stride) {
    const lines = contour(grid, level);
    for (const line of lines) pen.path(line.map(place), "#fff", 1.2);
    const named = lines[Math.floor(lines.length / 3)];
    const label = (10 ** level).toPrecision(2).replace(/\.0(?=e|$)/, "").replace("e+", "e");
    if (lines.length > 8) pen.text(place(named[0])[0] + 3, place(named[0])[1] - 3, label, "#fff");
  }
  const [most, longest] = [batches[batches.length - 1], locals[locals.length - 1]];
  if (corner && corner > 1) {
    const [b, I] = [Math.min(corner, most), Math.min(corner, longest)];
    pen.path([[at.x(corner / I), at.y(I)], [at.x(b), at.y(corner / b)]], "#fff", 2.5, [7, 4]);
  }
  for (const { b, I } of curve) {
    if (b <= most && I <= longest) pen.rect(at.x(b) - 3, at.y(I) - 3, 6, 6, "#fff");
  }
  if (choice) {
    const [x, y] = [at.x(choice.b), at.y(choice.I)];
    const cross = [[x - 8, y - 8], [x + 8, y + 8], [x, y], [x - 8, y + 8], [x + 8, y - 8]];
    outlined(pen, /** @type {any} */ (cross), [["#000", 6], ["#ff5d1f", 3]]);
  }
  drawAxes(pen, frame, ink);
}

/** The nearest whole (b, I) to a place on the surface, null beside it.
 * @param {import("./pens.mjs").Frame} frame @param {number} x @param {number} y
 * @returns {{b: number, I: number} | null} */
export function pointAt(frame, x, y) {
  const right = (x - MARGIN.left) / (frame.width - MARGIN.right - MARGIN.left);
  const up = (frame.height - MARGIN.bottom - y) / (frame.height - MARGIN.bottom - MARGIN.top);
  if (right < 0 || right > 1 || up < 0 || up > 1) return null;
  /** @param {[number, number]} ends @param {number} share */
  const value = ([low, high], share) => Math.max(1, Math.round(low * (high / low) ** share));
  return { b: value(frame.x, right), I: value(frame.y, up) };
}
