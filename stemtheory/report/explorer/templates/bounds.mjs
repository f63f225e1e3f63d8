// Bounds, curves and inversion: the formulas come from Python as trees, here is what evaluates them.

/** @typedef {number | string | any[]} Tree */
/** @typedef {{T: number, K: number, b: number, I: number, L: number, sigma: number, zeta: number,
 *   gap: number, sync_batch: number}} Setting  (the first batch B is b I) */
/** @typedef {{I: number, b: number, clipped: boolean}} Point */
/** @typedef {{w: number, p: number, q: number}} TradeOff */
/** @typedef {{gradients: number, vectors_up: number, initial_batch: boolean,
 *   initial_vectors: number, exchanges: number, jump: number | null}} Costs */
/** @typedef {{name: string,
 *   trade_off: TradeOff, one_step: boolean, terms: Record<string, Tree>,
 *   steps: string, run: string, spoken: string,
 *   value: (s: Setting) => number,
 *   premises: (s: Setting) => {name: string, ok: boolean}[], settle: (s: Setting) => Setting,
 *   shortest: (s: Setting) => number, adjust: (point: Point, T: number, K: number, L: number) =>
 *   Point}} Bound */
/** @typedef {{eta: (s: Setting, t: number) => number, a: (s: Setting, t: number) => number,
 *   m: (s: Setting) => number, end: (s: Setting) => number}} Schedule  steps eta_t, the a after
 *   each, the sync batch, and the last t with constant steps */
/** @typedef {Record<string, Schedule>} Schedules  the theorem's, R*'s by part, FedAvg's */

const INFIX = ["+", "-", "*", "/", "<", "<=", ">", ">=", "==", "||", "**"];
const CALLED = ["min", "max", "sqrt", "cbrt", "log1p", "floor"];
/** An operation of a tree as a line of this language. @param {string} name @param {string[]} parts
 * @returns {string} */
function written(name, parts) {
  const [x, y, r] = parts;
  if (INFIX.includes(name)) return `(${x} ${name} ${y})`;
  if (CALLED.includes(name)) return `Math.${name}(${parts.join(", ")})`;
  // beyond 2^53 a float cannot tell, and the page's runs are whole rounds
  if (name === "%") return `(${x} > 2 ** 53 ? 0 : ${x} % ${y})`;
  if (name === "//") return `Math.floor(${x} / ${y})`;
  if (name === "digamma") return `digamma(${x})`;
  const most = `Math.max(Math.abs(${x}), Math.abs(${y}))`;
  if (name === "isclose") return `(Math.abs(${x} - ${y}) <= ${r} * ${most})`;
  throw new Error(`unknown operation ${name}`);
}

/** The digamma function for x > 0: its recurrence, then its asymptotic series.
 * @param {number} x @returns {number} */
export function digamma(x) {
  let shift = 0;
  for (; x < 12; x += 1) shift -= 1 / x;
  const y = 1 / (x * x);
  return shift + Math.log(x) - 0.5 / x -
    y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * (691 / 32760))))));
}

/** A function of a setting that returns the values of trees, a number where there is one tree; what
 * they share is computed once.
 * @param {Tree[]} trees @param {string[]} letters
 * @returns {(s: object, t?: number, clipped?: boolean) => any} */
export function compile(trees, letters) {
  /** @type {Map<string, string>} */
  const known = new Map();
  /** @type {string[]} */
  const lines = [];
  /** @param {Tree} tree @returns {string} */
  function emit(tree) {
    if (typeof tree === "number") return tree < 0 ? `(${tree})` : String(tree);
    if (typeof tree === "string") {
      if (![...letters, "t", "clipped"].includes(tree)) throw new Error(`unknown letter ${tree}`);
      return tree;
    }
    const [operation, ...parts] = tree;
    const text = written(operation, parts.map(emit));
    if (!known.has(text)) {
      known.set(text, `v${known.size}`);
      lines.push(`const ${known.get(text)} = ${text};`);
    }
    return /** @type {string} */ (known.get(text));
  }
  const results = trees.map(emit);
  const given = letters.filter((letter) => letter !== "B").join(", ");
  const result = results.length === 1 ? results[0] : `[${results.join(", ")}]`;
  const body = `const {${given}} = s, B = b * I; ${lines.join(" ")} return ${result};`;
  const made = new Function("digamma", `return (s, t, clipped) => { ${body} }`);
  return made(digamma);
}

/** @param {any} data @returns {Record<string, Bound>} */
export function makeBounds(data) {
  /** @type {Record<string, Bound>} */
  const made = {};
  for (const [name, it] of Object.entries(data.bounds)) {
    /** @param {Tree[]} trees */
    const compiled = (trees) => compile(trees, data.letters);
    const sum = Object.values(it.terms).reduce((all, term) => ["+", all, term]);
    const premises = compiled(it.premises.map((/** @type {any} */ pair) => pair[1]));
    const moved = Object.keys(it.settle);
    const settled = compiled(Object.values(it.settle));
    const adjust = compiled([it.adjust.I, it.adjust.b, it.adjust.clipped]);
    /** @param {Setting} s @returns {Setting} */
    const settle = (s) => {
      if (moved.length === 0) return s;
      const values = [settled(s)].flat();
      return { ...s, ...Object.fromEntries(moved.map((key, i) => [key, values[i]])) };
    };
    made[name] = {
      ...it, name, settle, value: compiled([sum]), shortest: compiled([it.shortest]),
      premises: (s) => premises(s).map((/** @type {boolean} */ ok, /** @type {number} */ i) =>
        ({ name: it.premises[i][0], ok })),
      adjust: (point, T, K, L) => {
        if (it.adjust.I === "I" && it.adjust.b === "b") return point;
        const [I, b, clipped] = adjust({ ...point, T, K, L }, 0, point.clipped);
        return { I, b, clipped };
      },
    };
  }
  return made;
}

/** @param {any} data @returns {Schedules} */
export function makeSchedules(data) {
  /** @param {object} steps  without an end they are constant for good @returns {any} */
  const made = (steps) => Object.fromEntries(
    Object.entries(steps).map(([name, tree]) => [name, compile([tree ?? Infinity], data.letters)]));
  return Object.fromEntries(Object.entries(data.schedules).map(([name, it]) => [name, made(it)]));
}

/** To the nearest whole number, ties to the even one.
 * @param {number} x @returns {number} */
function nearest(x) {
  const low = Math.floor(x);
  return x - low === 0.5 && low % 2 === 0 ? low : Math.round(x);
}

/** The point (I, b) of a trade-off curve at T.
 * @param {TradeOff} curve @param {number} T @param {number} K @param {number} nu
 * @returns {Point} */
export function pointOf({ w, p, q }, T, K, nu) {
  const scale = T / K ** w;
  const [I, b] = [nearest(scale ** (nu / p)), scale ** ((1 - nu) / q)];
  return { I: Math.max(1, I), b: Math.max(1, b), clipped: scale < 1 };
}

/** The point of the curve that a bound is about.
 * @param {Bound} bound @param {number} T @param {number} K @param {number} nu @param {number} L
 * @returns {Point} */
export const curveOf = (bound, T, K, nu, L) =>
  bound.adjust(pointOf(bound.trade_off, T, K, bound.one_step ? 0 : nu), T, K, L);

const LONGEST = 1e44;
const SCANNED = 12;

/** The first S in [low, high] that meets it, given that high does; beyond 2^53 to a float's digits.
 * @param {(S: number) => boolean} meets @param {number} low @param {number} high
 * @returns {number} */
function first(meets, low, high) {
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (middle === low || middle === high) return meets(low) ? low : high;
    if (meets(middle)) high = middle;
    else low = middle + 1;
  }
  return high;
}

/** The first S in [start, last] that meets it, in growing strides; null if last fails.
 * @param {(S: number) => boolean} meets @param {number} start @param {number} last
 * @returns {number | null} */
function gallop(meets, start, last) {
  let [low, S, stride] = [start, start, 1];
  while (!meets(S)) {
    if (S >= last) return null;
    [low, S, stride] = [S + 1, Math.min(S + stride, last), 16 * stride];
  }
  return first(meets, low, S);
}

/** The smallest multiple T of I that meets the condition, Infinity if none up to 1e44 does.
 * @param {(T: number) => boolean} meets @param {number} I @param {number} phaseEnd */
function firstFixed(meets, I, phaseEnd) {
  const end = Math.floor(Math.min(Math.floor(phaseEnd), LONGEST) / I);
  // once met it stays met up to there, so the strides from 1 find what a bisection would
  if (end >= 1 && meets(end * I)) return I * Number(gallop((S) => meets(S * I), 1, end));
  const S = gallop((S) => meets(S * I), end + 1, Math.floor(LONGEST / I));
  return S === null ? Infinity : S * I;
}

/** The smallest T that is a multiple of its own I and meets the condition, Infinity if none does.
 * @param {(T: number, at: Point) => boolean} meets @param {(T: number) => Point} point
 * @param {(I: number) => number} longest @returns {number} */
function firstOnCurve(meets, point, longest) {
  const least = point(1).I;
  /** @param {number} I @param {number} S */
  const at = (I, S) => meets(S * I, point(S * I));
  /** @param {number} I */
  const last = (I) => {
    let S = Math.floor(Math.min(longest(I), LONGEST) / I);
    for (let stride = 1; S > 0 && point(S * I).I > I; stride *= 2) S -= stride;
    return point((S + 1) * I).I <= I ? S + 1 : S;
  };
  /** @param {number} I */
  const answers = (I) => {
    const S = last(I);
    return S > 0 && point(S * I).I === I && at(I, S);
  };
  /** @param {number} I */
  const firstOf = (I) => {
    if (I === least) return 1;
    const before = Math.floor((last(I - 1) * (I - 1)) / I);
    const S = gallop((S) => point(S * I).I >= I, before + 1, Math.floor(LONGEST / I));
    return S === null ? Math.floor(LONGEST / I) : S;
  };
  /** @param {number} I */
  const finish = (I) => {
    const end = last(I);
    const S = gallop((S) => at(I, S), firstOf(I), end);
    return I * (S === null ? end : S);
  };
  for (let I = least; I <= SCANNED; I += 1) if (answers(I)) return finish(I);
  let I = SCANNED;
  while (!answers(I)) {
    if (longest(I) >= LONGEST) return Infinity;
    I *= 2;
  }
  return finish(first(answers, Math.max(SCANNED, Math.floor(I / 2)), I));
}

/** Whether the bound applies at this length of run and is at most epsilon.
 * @param {Bound} bound @param {Setting} s @param {number} epsilon */
const meets = (bound, s, epsilon) => s.T >= bound.shortest(s) && bound.value(s) <= epsilon;

/** The setting at the smallest T whose bound is at most epsilon, b and I held; null if none is.
 * @param {Bound} bound @param {Schedules} schedules @param {number} epsilon @param {Setting} start
 * @returns {Setting | null} */
export function promised(bound, schedules, epsilon, start) {
  const [{ I }, s] = [bound.settle(start), { ...start }];
  const end = schedules[bound.steps].end(start);
  const T = firstFixed((T) => ((s.T = T), meets(bound, s, epsilon)), I, end);
  return T === Infinity ? null : bound.settle({ ...start, T });
}

/** The same along the bound's trade-off curve.
 * @param {Bound} bound @param {number} epsilon @param {Setting} start @param {number} nu
 * @returns {Setting | null} */
export function promisedOnCurve(bound, epsilon, start, nu) {
  const along = bound.one_step ? 0 : nu;
  const { w, p } = bound.trade_off;
  const T = firstOnCurve(
    (T, at) => meets(bound, { ...start, T, b: at.b, I: at.I }, epsilon),
    (T) => curveOf(bound, T, start.K, along, start.L),
    (I) => (along === 0 ? Infinity : Math.exp(w * Math.log(start.K) + (p / along) * Math.log(I + 0.5))),
  );
  if (T === Infinity) return null;
  const { b, I } = curveOf(bound, T, start.K, along, start.L);
  return bound.settle({ ...start, T, b, I });
}

/** What a run costs one worker: samples (oracle calls), rounds, and vectors sent.
 * @param {Costs} costs @param {Setting} s
 * @returns {{samples: number, rounds: number, vectors: number}} */
export function countsOf(costs, s) {
  const m = s.sync_batch;
  const none = costs.jump === null || m === 1 || s.I === 1;
  const jumps = none ? 0 : Math.max(0, Math.floor((s.T - s.I - Number(costs.jump)) / s.I) + 1);
  const draws = s.T - jumps + m * jumps;
  const rounds = Math.floor(s.T / s.I);
  const samples = (costs.initial_batch ? s.b * s.I : 0) + s.b * costs.gradients * draws;
  return { samples, rounds, vectors: costs.vectors_up * rounds + costs.initial_vectors };
}
