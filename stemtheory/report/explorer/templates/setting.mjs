// The setting: a state of the page as bounds, runs and the adviser take it.
import { countsOf, curveOf, makeBounds, makeSchedules, pointOf, promised, promisedOnCurve } from
  "./bounds.mjs";
import { makeFalls } from "./falls.mjs";
import { averages, oneRun, recursionOf } from "./moments.mjs";

/** @typedef {import("./bounds.mjs").Setting} Setting */
/** @typedef {any} State  the dials' numbers, and what is chosen by name */
/** @typedef {(number | null)[]} Values */

/** @param {string} id @returns {any} */
export const $ = (id) => document.getElementById(id);
export const data = JSON.parse($("data").textContent);
const schedules = makeSchedules(data);
export const bounds = makeBounds(data);
export const known = { bounds, schedules, costs: data.costs, offered: data.offered };
export const BOUNDS = Object.keys(bounds);
export const READINGS = [...Object.keys(data.readings), "fedavg"];
const LONGEST_RUN = 1e5; // iterations of a run that is followed step by step

/** @param {number | null} x @returns {string} */
export function shown(x) {
  if (x === null || !Number.isFinite(x)) return x === null ? "–" : "diverges";
  const far = x !== 0 && (Math.abs(x) >= 1e6 || Math.abs(x) < 1e-3);
  return far ? x.toExponential(3).replace("e+", "e") : String(Number(x.toPrecision(4)));
}
/** The constants of the assumptions; one worker does not differ from itself. @param {State} s */
export const constantsOf = ({ K, L, sigma, zeta, gap }) =>
  ({ K, L, sigma, zeta: K === 1 ? 0 : zeta, gap });
/** The setting of T rounded up to whole rounds, as the commands round it.
 * @param {State} state @param {number} T @param {{b: number, I: number}} at @returns {Setting} */
export const settingAt = (state, T, { b, I }) =>
  ({ ...constantsOf(state), T: Math.ceil(T / I) * I, b, I, sync_batch: 1 });
/** @param {State} state @param {string} name of a bound @param {number} T */
export function boundSetting(state, name, T) {
  const own = state.place === "fixed" && !bounds[name].one_step;
  const s = settingAt(state, T, own ? state : curveOf(bounds[name], T, state.K, state.nu, state.L));
  return { ...s, sync_batch: bounds[name].settle(s).sync_batch };
}
/** The steps of a run. @param {State} state @param {string} reading */
export const stepsOf = (state, reading) => schedules[reading === "fedavg" ? reading : state.steps];
/** @param {State} state @param {string} reading @param {number} T */
export function runSetting(state, reading, T) {
  const { trade_off } = bounds[reading === "fedavg" ? "fedavg-theorem" : "stem-theorem"];
  const at = state.place === "fixed" ? state : pointOf(trade_off, T, state.K, state.nu);
  const s = settingAt(state, T, at);
  return { ...s, sync_batch: stepsOf(state, reading).m(s) };
}
/** Steps in a few words, with the sync batch m. @param {string} text @param {number} m */
export const withBatch = (text, m) => (m > 1 ? `${text}, m = ${shown(m)}` : text);
/** Premises of a bound that are unmet.
 * @param {State} state @param {string} name @param {Setting} s @returns {string[]} */
export function unmet(state, name, s) {
  const found = bounds[name].premises(s).filter((it) => !it.ok).map((it) => it.name);
  if (state.model !== "opposite" || state.K === 1) return found;
  return [...found, "Assumption 2 (linearised: zeta is infinite)"];
}
/** The problem that runs are followed on: one coordinate, x_1 from the gap. @param {State} state */
export function problemOf(state) {
  const { K, L, zeta, gap } = { ...state, ...constantsOf(state) };
  const [h, push, pair] = [L * state.h, zeta / 2, Math.floor(K / 2)];
  const V = state.model === "opposite" ? L - h : 0;
  const like = [{ H: h + V, o: push, size: pair }, { H: h - V, o: -push, size: pair }];
  const groups = [...(pair ? like : []), ...(K % 2 ? [{ H: h, o: 0, size: 1 }] : [])];
  const pushes = groups.map(({ o, size }) => ({ push: o, size }));
  const run = { h, wave: push > 0 ? (L - h) / push : 0, pushes };
  return { x1: Math.sqrt((2 * gap) / h), linear: { groups, level: state.sigma }, run };
}
const falls = makeFalls(data, shown);
/** The waterfall's own setting, with whole b: its S = (I b K)^2 rounds are those of constant steps.
 * @param {State} state */
export function fallsOf(state) {
  const [{ K, L, gap, ...noise }, run] = [constantsOf(state), runSetting(state, "literal", state.T)];
  const [b, I] = [Math.round(run.b), run.I];
  const s = { K, b, I, T: (I * b * K) ** 2 * I, L: 1, ...noise, gap: L * gap, sync_batch: 1 };
  return { s, falls: falls(s), colour: data.looks["stem-theorem"].colour };
}
/** Why a run is not followed, empty if it is.
 * @param {State} state @param {string} reading @param {Setting} s @returns {string} */
export function silent(state, reading, s) {
  if (state.model === "waves") {
    if (state.sigma > 0) return "with noise, moments of this model do not close: set sigma to 0";
    return s.T > LONGEST_RUN ? `followed step by step, to T = ${shown(LONGEST_RUN)}` : "";
  }
  const end = stepsOf(state, reading).end(s);
  return s.T <= end ? "" : `steps vary beyond T = ${shown(end)}: not followed here`;
}
/** The averages at increasing T of one reading; on a curve each T has its own round.
 * @param {State} state @param {string} reading @param {number[]} asked
 * @returns {Generator<void, Values>} */
export function* follow(state, reading, asked) {
  const [{ x1, linear, run }, fedavg] = [problemOf(state), reading === "fedavg"];
  const recursion = state.model === "waves" ? null : recursionOf(linear, reading);
  const settings = asked.map((T) => runSetting(state, reading, T));
  const followed = settings.flatMap((s, i) => (silent(state, reading, s) ? [] : [i]));
  const alike = state.place === "fixed" && !fedavg && followed.length > 0; // one round for every T
  const found = settings.map(() => /** @type {number | null} */ (null));
  for (const part of alike ? [followed] : followed.map((i) => [i])) {
    const s = settings[part[0]];
    const lengths = [...new Set(part.map((i) => settings[i].T))];
    const steps = stepsOf(state, reading);
    const values = recursion
      ? averages(recursion, { x1, eta: steps.eta(s, 1), a: steps.a(s, 1), ...s }, lengths)
      : oneRun(run, reading, steps, x1, s, lengths);
    for (const i of part) found[i] = values[lengths.indexOf(settings[i].T)];
    yield;
  }
  return found;
}
/** The setting at which a bound is at most epsilon. @param {State} state @param {string} name
 * @param {number} epsilon @returns {Setting | null} */
export function reached(state, name, epsilon) {
  const fixed = state.place === "fixed" && !bounds[name].one_step;
  const start = { ...settingAt(state, 1, fixed ? state : { b: 1, I: 1 }), T: 1 };
  if (fixed) return promised(bounds[name], schedules, epsilon, start);
  return promisedOnCurve(bounds[name], epsilon, start, state.nu);
}
/** @param {State} state @param {string} name @param {Setting} s @returns {Record<string, number>} */
export function costOf(state, name, s) {
  const counts = countsOf(data.costs[bounds[name].run], s);
  const cost = state.sample_cost * counts.samples + state.round_cost * counts.vectors;
  return { ...counts, cost };
}
/** @param {State} state @returns {import("./advice.mjs").Question} */
export function questionOf(state) {
  const { epsilon, sample_cost, round_cost } = state;
  return { ...constantsOf(state), epsilon, sample_cost, round_cost };
}
