// The waterfall: S times each bound from the printed theorem to Theorem R*, an estimate at a time.
import { compile } from "./bounds.mjs";
import { drawAxes, MARGIN, scalesOf } from "./pens.mjs";

/** @typedef {import("./bounds.mjs").Setting} Setting */
/** @typedef {{step: string, claim: string, entry: string, value: number, label: string}} Fall */
/** @typedef {{falls: Fall[], colour: string}} Waterfall */

/** What makes the bars of a setting with L = 1 and T = S I.
 * @param {any} data @param {(x: number) => string} shown @returns {(s: Setting) => Fall[]} */
export function makeFalls({ falls, letters }, shown) {
  const made = falls.map((/** @type {any} */ it) => ({ ...it, at: compile([it.value], letters) }));
  return (s) => made.filter((/** @type {any} */ it) => s.I >= it.least_I).map((/** @type {any} */ it) =>
    ({ ...it, value: it.at(s), label: `${it.step} (${it.claim}): ${shown(it.at(s))}` }));
}

/** The frame of the bars, whole decades wide. @param {Waterfall} view @param {number} width
 * @param {number} height @returns {import("./pens.mjs").Frame} */
export function fallsFrame({ falls }, width, height) {
  const values = falls.map(({ value }) => Math.log10(value));
  const [low, high] = [Math.floor(Math.min(...values)), Math.ceil(Math.max(...values))];
  // the other axis has no numbers: no power of 10 lies between its ends
  return { x: [10 ** low, 10 ** high], y: [2, 9], width, height, xLabel: "S times the bound", yLabel: "" };
}

/** Every bar ends at its own bound and begins at the one before.
 * @param {import("./pens.mjs").Pen} pen @param {Waterfall} view
 * @param {import("./pens.mjs").Frame} frame @param {string} ink */
export function drawFalls(pen, { falls, colour }, frame, ink) {
  const [{ x }, tall] = [scalesOf(frame), (frame.height - MARGIN.top - MARGIN.bottom) / falls.length];
  falls.forEach(({ label, value }, i) => {
    const [one, other] = [x(value), x(i ? falls[i - 1].value : frame.x[0])];
    const [left, top] = [Math.min(one, other), MARGIN.top + i * tall];
    pen.rect(left, top + 0.5 * tall, Math.max(2, Math.abs(one - other)), 0.4 * tall, colour);
    pen.text(MARGIN.left + 6, top + 0.4 * tall, label, ink);
  });
  drawAxes(pen, frame, ink);
}
