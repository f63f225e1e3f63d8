// What is taken away from the page: commands that give the same numbers, and files.
import { drawAxes, scalesOf, svgPen, svgText } from "./pens.mjs";
import { BOUNDS, bounds, constantsOf, problemOf, questionOf, READINGS } from "./setting.mjs";
import { drawSurface, surfaceFrame } from "./surface.mjs";

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

/** The numbers of a view. @param {any} view @param {string} quantity @returns {string} */
export function csvOf(view, quantity) {
  const { grid, batches, locals, xs, lines, xLabel } = view;
  /** @type {any} */
  let rows;
  if (grid) {
    rows = grid.flatMap((/** @type {any[]} */ row, /** @type {number} */ j) =>
      row.map((v, i) => [Math.round(batches[i]), Math.round(locals[j]), v === null ? "" : 10 ** v]),
    );
    rows.unshift(["b", "I", quantity]);
  } else {
    /** @param {(line: any) => any[]} pick */
    const columns = (pick) => lines.flatMap(pick);
    rows = xs.map((/** @type {number} */ x, /** @type {number} */ i) => [
      x, ...columns((l) => [l.values[i] ?? "", l.unmet[i] ?? ""]),
    ]);
    rows.unshift([xLabel, ...columns((l) => [l.label, `${l.label} (premises unmet)`])]);
  }
  /** @param {any} cell */
  const quoted = (cell) => (String(cell).includes(",") ? `"${cell}"` : cell);
  return rows.map((/** @type {any[]} */ row) => `${row.map(quoted).join(",")}\n`).join("");
}

/** A picture of a view, for print. @param {any} view @param {string} title @returns {string} */
export function svgOf(view, title) {
  const [{ pen, parts }, width, height, ink] = [svgPen(), 760, 430, "#1a1a1a"];
  pen.rect(0, 0, width, height, "#fff");
  if (view.grid) drawSurface(pen, view, surfaceFrame(view, width, height), ink, "#d9d9d9");
  else {
    const { xs, lines, plot, xLabel, yLabel } = view;
    const [low, high] = [plot.scales.y.min, plot.scales.y.max];
    /** @type {import("./pens.mjs").Frame} */
    const frame = { x: [xs[0], xs[xs.length - 1]], y: [low, high], width, height, xLabel, yLabel };
    const at = scalesOf(frame);
    /** @param {any[]} values @param {string} colour @param {number[]} dash */
    const draw = (values, colour, dash) => {
      const spots = values.flatMap((v, i) => (v >= low && v <= high ? [[at.x(xs[i]), at.y(v)]] : []));
      if (spots.length > 1) pen.path(/** @type {any} */ (spots), colour, 2, dash);
    };
    for (const l of lines) {
      draw(l.unmet, "#999", [3, 4]);
      draw(l.values, l.colour, l.dash);
    }
    drawAxes(pen, frame, ink);
  }
  return svgText(parts, width, height, title);
}
