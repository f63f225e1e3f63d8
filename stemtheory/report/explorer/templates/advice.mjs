// The cheapest offer that a bound proves, at a fixed (b, I) and over all of them.
import { countsOf, promised, promisedOnCurve } from "./bounds.mjs";

/** @typedef {import("./bounds.mjs").Setting} Setting */
/** @typedef {import("./bounds.mjs").Bound} Bound */
/** @typedef {{epsilon: number, K: number, L: number, sigma: number, zeta: number, gap: number,
 *   sample_cost: number, round_cost: number}} Question */
/** @typedef {{algorithm: string, bound: string, b: number, I: number, T: number, m: number, samples: number,
 *   rounds: number, vectors: number, cost: number}} Offer */
/** @typedef {{bounds: Record<string, Bound>, schedules: import("./bounds.mjs").Schedules,
 *   costs: Record<string, import("./bounds.mjs").Costs>, offered: {bounds: Record<string, string[]>,
 *   nus: number[], strides: number[]}}} Known */

/** @param {Question} q @param {number} b @param {number} I @returns {Setting} */
export const startAt = ({ K, L, sigma, zeta, gap }, b, I) =>
  ({ T: 1, K, b, I, L, sigma, zeta, gap, sync_batch: 1 });

/** Whether x is cheaper: cost, then rounds, then samples.
 * @param {Offer} x @param {Offer} y @returns {boolean} */
function cheaper(x, y) {
  const by = /** @type {const} */ (["cost", "rounds", "samples"]).find((key) => x[key] !== y[key]);
  return by !== undefined && x[by] < y[by];
}

/** @param {(Offer | null)[]} offers @returns {Offer | null} */
const least = (offers) => offers.reduce((best, o) => (o && (!best || cheaper(o, best)) ? o : best), null);

/** The offer at fixed (b, I) by one bound; null where no run is proved to reach epsilon there.
 * @param {Known} known @param {Question} q @param {string} algorithm @param {string} name
 * @param {number} b @param {number} I @returns {Offer | null} */
export function offerBy(known, q, algorithm, name, b, I) {
  const bound = known.bounds[name === "minibatch-sgd" ? "fedavg-theorem" : name];
  const s = promised(bound, known.schedules, q.epsilon, startAt(q, b, I));
  if (s === null || !bound.premises(s).every((premise) => premise.ok)) return null;
  const counts = countsOf(known.costs[algorithm === "stem" && I === 1 ? "literal" : bound.run], s);
  const cost = q.sample_cost * counts.samples + q.round_cost * counts.vectors;
  return { algorithm, bound: name, b: s.b, I: s.I, T: s.T, m: s.sync_batch, ...counts, cost };
}

/** The offer at fixed (b, I) by the best bound.
 * @param {Known} known @param {Question} q @param {string} algorithm @param {number} b
 * @param {number} I @returns {Offer | null} */
export const offerAt = (known, q, algorithm, b, I) =>
  least(known.offered.bounds[algorithm].map((name) => offerBy(known, q, algorithm, name, b, I)));

/** n, and the whole numbers a factor 1 + stride (at least one) below and above it.
 * @param {number} n @param {number} stride @returns {number[]} */
function strides(n, stride) {
  const low = Math.max(1, Math.min(Math.floor(n / (1 + stride)), n - 1));
  return [...new Set([low, n, Math.max(Math.ceil(n * (1 + stride)), n + 1)])];
}

/** The cheapest offer of an algorithm: from every point of the curve, downhill in (b, I) by ever
 * shorter strides. Null where nothing is proved.
 * @param {Known} known @param {Question} q @param {string} algorithm @returns {Offer | null} */
export function cheapest(known, q, algorithm) {
  /** @type {Map<string, Offer | null>} */
  const seen = new Map();
  /** @param {number} b @param {number} I */
  const at = (b, I) => {
    const key = `${b} ${I}`;
    if (!seen.has(key)) seen.set(key, offerAt(known, q, algorithm, b, I));
    return seen.get(key) ?? null;
  };
  /** @param {Offer} found @param {number} stride @returns {Offer} */
  const downhill = (found, stride) => {
    for (;;) {
      const steps = algorithm === "minibatch-sgd" ? [1] : strides(found.I, stride);
      const around = strides(found.b, stride).flatMap((b) => steps.map((I) => at(b, I)));
      const better = least([found, ...around]);
      if (!better || !cheaper(better, found)) return found;
      found = better;
    }
  };
  /** @type {Offer[]} */
  const starts = [];
  for (const name of known.offered.bounds[algorithm]) {
    for (const nu of algorithm === "minibatch-sgd" ? [0] : known.offered.nus) {
      const s = promisedOnCurve(known.bounds[name], q.epsilon, startAt(q, 1, 1), nu);
      if (s === null) continue;
      for (const b of new Set([Math.max(1, Math.floor(s.b)), Math.ceil(s.b)])) {
        starts.push(...[offerBy(known, q, algorithm, name, b, s.I)].filter((o) => o !== null));
      }
    }
  }
  // the first of equals is taken, and as in Python the dearest start comes first
  starts.sort((x, y) => Number(cheaper(y, x)) - Number(cheaper(x, y))).reverse();
  const [long, ...shorter] = known.offered.strides;
  let found = least(starts.map((o) => downhill(o, long)));
  for (const stride of shorter) found = found && downhill(found, stride);
  return found;
}

/** The cheapest of all algorithms, and each one's: null where the start is good enough already.
 * @param {Known} known @param {Question} q
 * @returns {{choice: Offer | null, offers: Offer[]}} */
export function advise(known, q) {
  if (2 * q.L * q.gap <= q.epsilon || (q.sample_cost === 0 && q.round_cost === 0)) {
    return { choice: null, offers: [] };
  }
  const found = Object.keys(known.offered.bounds).map((name) => cheapest(known, q, name));
  const offers = /** @type {Offer[]} */ (found.filter((offer) => offer !== null));
  return { choice: least(offers), offers };
}
