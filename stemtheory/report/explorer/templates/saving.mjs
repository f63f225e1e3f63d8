// What is taken away from the page: commands that give the same numbers, and files.
import { drawAxes, scalesOf, svgPen, svgText } from "./pens.mjs";
import { BOUNDS, bounds, constantsOf, fallsOf, problemOf, questionOf, READINGS } from "./setting.mjs";

/** @typedef {import("./setting.mjs").State} State */

/** @param {object} values @returns {string} */
const flags = (values) =>
  Object.entries(values).map(([name, v]) => `--${name.replace("_", "-")} ${v}`).join(" ");
/** @param {object} values @returns {string} */
const keywords = (values) => Object.entries(values).map(([name, v]) => `${name}=${v}`).join(", ");

/** The commands and the Python lines of a view. @param {string} id @param {State} state
 * @returns {string} */
export function commandsOf(id, state) {
  const [constants, { epsilon, T, K, L, sigma }] = [constantsOf(state), state];
  const sizes = state.place === "fixed" ? { b: state.b, I: state.I } : { nu: state.nu };
  if (id === "surface") {
    const { epsilon: first, ...others } = questionOf(state);
    return `stemtheory advise ${flags(questionOf(state))}

from stemtheory import advise
print(advise(${first}, ${keywords(others)})["choice"])`;
  }
  if (id === "slack") {
    const { s } = fallsOf(state);
    const weights = [s.gap, s.sigma ** 2, s.zeta ** 2];
    const fits = weights.every((w) => w >= 1e-6 && w <= 1e6) && s.T < 2 ** 63;
    const command = `stemtheory slack ${flags({ K: s.K, I: s.I, b: s.b })} --weights ${weights}`;
    return `${fits ? command : `# out of the range of that command: ${command}`}

from stemtheory.bounds import Setting
from stemtheory.tightening import CHAIN
s = Setting(${keywords(s)})
for estimate in CHAIN:
    if s.I >= estimate.least_I:
        print(estimate.claim, estimate.value(s))`;
  }
  /** @param {object} asked */
  const all = (asked) =>
    BOUNDS.map((name) => {
      const own = bounds[name].one_step ? {} : sizes;
      return `stemtheory bound ${name} ${flags({ ...asked, ...constants, ...own })}`;
    }).join("\n");
  if (id === "epsilon") {
    return `${all({ epsilon })}

from stemtheory.bounds import BOUNDS, invert
for name, bound in BOUNDS.items():
    place = dict(nu=0) if bound.one_step else dict(${keywords(sizes)})
    found = invert(name, ${epsilon}, ${keywords(constants)}, **place)
    print(name, found.T, found.samples_per_worker, found.rounds)`;
  }
  const { x1, linear, run } = problemOf(state);
  const told = keywords({ T, ...sizes, x1 });
  const part = state.steps === "theorem" ? "" : state.steps;
  if (state.model === "waves") {
    const { zeta } = constants;
    const made = flags({ K, dim: 1, set: `h=${run.h}`, L, sigma: 0, zeta, T, ...sizes, x1 });
    const own = part ? ` --schedule rstar --set schedule.part=${part}` : "";
    const runs = READINGS.map((name) => (name === "fedavg" ? name : `stem --sync ${name}${own}`));
    return [all({ T }), ...runs.map(
      (name) => `stemtheory run quadratic ${name} ${made} --replicates 1`)].join("\n");
  }
  const group = linear.groups.map((g) => `Group(${g.H}, ${g.o}, ${g.size})`).join(", ");
  const dials = { K, dim: 1, h: run.h, L, slack: "True", sigma, zeta: constants.zeta };
  const problem = state.model === "opposite"
    ? `from stemtheory.moments import LinearModel
from stemtheory.moments.linear_model import Group
problem = LinearModel((${group},), 0.0, ${sigma})`
    : `from stemtheory import load_problem
problem = load_problem("quadratic", ${keywords(dials)},
                       noise="additive", heterogeneity="tilt")`;
  const steps = part && `, schedule="rstar", schedule_options={"part": "${part}"}`;
  return `${all({ T })}

from stemtheory.moments import moments
${problem}
for sync in (${READINGS.slice(0, -1).map((name) => `"${name}"`).join(", ")}):
    print(sync, moments(problem, "stem", ${told}, sync=sync${steps}).mean_grad_sq)
print("fedavg", moments(problem, "fedavg", ${told}).mean_grad_sq)`;
}

/** @param {any} view @param {string} quantity @returns {any[][]} */
function rowsOf({ falls, grid, batches, locals, xs, lines, xLabel }, quantity) {
  const numbers = falls?.map((/** @type {any} */ it) => [it.step, it.claim, it.value]);
  if (falls) return [["step", "claim", "S times the bound"], ...numbers];
  if (grid) {
    const rows = grid.flatMap((/** @type {any[]} */ row, /** @type {number} */ j) => row.map(
      (v, i) => [Math.round(batches[i]), Math.round(locals[j]), v === null ? "" : 10 ** v]));
    return [["b", "I", quantity], ...rows];
  }
  /** @param {(line: any) => any[]} pick */
  const columns = (pick) => lines.flatMap(pick);
  const names = columns((l) => [l.label, `${l.label} (premises unmet)`]);
  return [[xLabel, ...names], ...xs.map((/** @type {number} */ x, /** @type {number} */ i) => [
    x, ...columns((l) => [l.values[i] ?? "", l.unmet[i] ?? ""])])];
}
/** The numbers of a view. @param {any} view @param {string} quantity @returns {string} */
export function csvOf(view, quantity) {
  /** @param {any} cell */
  const quoted = (cell) => (String(cell).includes(",") ? `"${cell}"` : cell);
  return rowsOf(view, quantity).map((row) => `${row.map(quoted).join(",")}\n`).join("");
}

/** A picture of a view, for print. @param {any} view @param {string} title @returns {string} */
export function svgOf(view, title) {
  const [{ pen, parts }, width, height, ink] = [svgPen(), 760, 430, "#1a1a1a"];
  pen.rect(0, 0, width, height, "#fff");
  if (view.draw) view.draw(pen, view, view.frame(view, width, height), ink, "#d9d9d9");
  else {
    const { xs, lines, plot, xLabel, yLabel } = view;
    const [low, high] = [plot.scales.y.min, plot.scales.y.max];
    /** @type {import("./pens.mjs").Frame} */
    const frame = { x: [xs[0], xs[xs.length - 1]], y: [low, high], width, height, xLabel, yLabel };
    const at = scalesOf(frame);
    const grey = lines.map((/** @type {any} */ l) => ({ ...l, values: l.unmet, colour: "#999", dash: [3, 4] }));
    for (const { values, colour, dash } of [...grey, ...lines]) {
      const spots = values.flatMap((/** @type {any} */ v, /** @type {number} */ i) =>
        (v >= low && v <= high ? [[at.x(xs[i]), at.y(v)]] : []));
      if (spots.length > 1) pen.path(spots, colour, 2, dash);
    }
    drawAxes(pen, frame, ink);
  }
  return svgText(parts, width, height, title);
}
