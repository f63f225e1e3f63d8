// Exact second moments on linear problems: a round as a map of all of them, and its powers.
//
// As in Python, three things keep the digits: maps are increments (map minus identity), d is stored
// as its error e = d - grad f^(k)(x_prev), and groups of like workers as their mean and differences.

/** @typedef {{H: number, o: number, size: number}} Group */
/** @typedef {{groups: Group[], level: number}} Model  level: of a sample's additive noise */
/** @typedef {number[][]} Rows  one row for each of the monomials 1, eta, a */
/** @typedef {{own: number[][], one: number[], mean: number[][]}} View */
/** @typedef {{m: number, still: Float64Array[], noise: Float64Array[]}} StepMap */
/** @typedef {{local: StepMap, ends: StepMap, start: (x1: number, B: number) => number[],
 *   early: boolean}} Recursion  early: the estimate that spans the averaging ends a round */
/** @typedef {{x1: number, eta: number, a: number, b: number, I: number, sync_batch: number}} Steps */

const ROUNDING = 16 * 2 ** -52; // of a product of three small matrices
/** @param {number} n */
const half = (n) => (n * (n + 1)) / 2;
/** @param {number} n @returns {number[]} */
const zeros = (n) => new Array(n).fill(0);
/** @param {number} n @returns {number[][]} */
const identity = (n) => zeros(n).map((_, i) => zeros(n).map((_, j) => Number(i === j)));
/** @param {number[][]} A @param {number[][]} B @returns {number[][]} */
const times = (A, B) => A.map((row) => B[0].map((_, j) => row.reduce((sum, a, k) => sum + a * B[k][j], 0)));
/** @param {number[][]} rows @param {number[]} weights @returns {number[]} */
const combined = (rows, weights) =>
  rows[0].map((_, j) => rows.reduce((sum, row, i) => sum + weights[i] * row[j], 0));
/** @param {number} n @returns {[number, number][]} */
const pairs = (n) => zeros(n).flatMap((_, i) => zeros(n - i).map((_, j) => /** @type {any} */ ([i, i + j])));
/** @param {number[]} z @returns {number[]} */
const halfOuter = (z) => pairs(z.length).map(([i, j]) => z[i] * z[j]);

/** What is averaged at a synchronisation. @param {string} reading @returns {number[]} */
const averaged = (reading) => reading === "fedavg" ? [0] : reading === "literal" ? [0, 2] : [0, 1, 2];
/** Whether x is averaged before d. @param {string} reading */
const averagesFirst = (reading) => reading === "average-first" || reading === "average-both";

/** A step before anything is averaged: STEM by a reading, or FedAvg.
 * @param {View} view @param {number} H @param {number} o @param {string} reading
 * @param {boolean} ends @returns {Rows[]} */
function stepRows({ own, one, mean }, H, o, reading, ends) {
  const zero = own[0].map(() => 0);
  if (reading === "fedavg") {
    const x = own[0];
    return [[x, combined([x, one], [-H, -o]), zero]];
  }
  const first = ends && averagesFirst(reading);
  const [x, d] = first ? [mean[0], mean[2]] : [own[0], own[2]];
  const previous = first && reading === "average-both" ? mean[0] : own[1];
  const minus = d.map((v) => -v);
  const here = [x, minus, zero];
  const kept = combined([own[2], previous, one], [1, -H, -o]);
  const direction = combined([kept, x, one], [1, H, o]);
  return [here, here, [direction, d.map((v) => -H * v), kept.map((v) => -v)]];
}

/** M -> A_i M A_j' on upper triangles. @param {number[][][]} A @returns {Float64Array[]} */
function congruence(A) {
  const n = A[0].length;
  const upper = pairs(n);
  const h = upper.length;
  return A.flatMap((Ai) =>
    A.map((Aj) => {
      const found = new Float64Array(h * h);
      upper.forEach(([r, s], row) =>
        upper.forEach(([p, q], column) => {
          const twice = p === q ? 0 : Ai[r][q] * Aj[s][p];
          found[row * h + column] = Ai[r][p] * Aj[s][q] + twice;
        }),
      );
      return found;
    }),
  );
}

/** How the state is laid out. @param {Model} model @param {string} reading */
function layout(model, reading) {
  const variables = reading === "fedavg" ? 1 : 3;
  const N = 1 + model.groups.length * variables;
  const spread = model.groups.map((g, i) => (g.size > 1 ? i : -1)).filter((i) => i >= 0);
  const size = half(N) + spread.length * half(variables) + 1;
  const K = model.groups.reduce((sum, g) => sum + g.size, 0);
  return { variables, N, spread, size, shares: model.groups.map((g) => g.size / K), K };
}

/** The change of z from d to e and from groups to their mean and differences, and its inverse.
 * @param {Model} model @param {ReturnType<typeof layout>} form */
function basis(model, { variables: V, N, shares }) {
  const [error, restore, into, back] = [identity(N), identity(N), identity(N), identity(N)];
  const G = model.groups.length;
  model.groups.forEach(({ H, o }, g) => {
    const end = g * V + V;
    if (V === 3) {
      [error[end][0], error[end][end - 1]] = [-o, -H];
      [restore[end][0], restore[end][end - 1]] = [o, H];
    }
  });
  for (let g = 0; g < G; g += 1) {
    for (let h = 0; h < G; h += 1) {
      const mixed = g === 0 ? shares[h] : Number(g === h) - shares[h];
      const apart = h === 0 ? 1 : g === 0 ? -shares[h] / shares[0] : Number(g === h);
      for (let v = 1; v <= V; v += 1) {
        into[g * V + v][h * V + v] = mixed;
        back[g * V + v][h * V + v] = apart;
      }
    }
  }
  return { into: times(into, error), back: times(restore, back) };
}

/** into A back, where what is 0 but for rounding is 0: the mean must not see the differences.
 * @param {number[][]} into @param {number[][]} A @param {number[][]} back @returns {number[][]} */
function withoutRounding(into, A, back) {
  const [i, a, b] = [into, A, back].map((M) => M.map((row) => row.map(Math.abs)));
  const scale = times(times(i, a), b);
  const product = times(times(into, A), back);
  return product.map((row, i) => row.map((v, j) => (Math.abs(v) > ROUNDING * scale[i][j] ? v : 0)));
}

/** The map of one step as nine matrices, minus identity, with the sum of E||grad f||^2 last.
 * @param {Model} model @param {string} reading @param {boolean} ends @returns {StepMap} */
function stepMap(model, reading, ends) {
  const form = layout(model, reading);
  const { variables: V, N, spread, size: m, shares } = form;
  const means = ends ? averaged(reading) : [];
  const { into, back } = basis(model, form);
  const [averaging, unit] = [identity(N), identity(N)];
  const own = model.groups.map((_, g) => unit.slice(1 + g * V, 1 + (g + 1) * V));
  for (const v of means) {
    own.forEach((_, g) => own.forEach((_, h) => (averaging[1 + v + g * V][1 + v + h * V] = shares[h])));
  }
  const post = times(into, averaging);
  const mean = own[0].map((_, v) => combined(own.map((rows) => rows[v]), shares));
  const [still, noise] = [0, 1].map(() => zeros(9).map(() => new Float64Array(m * m)));
  const A = [0, 1, 2].map(() => zeros(N).map(() => zeros(N)));
  A[0][0][0] = 1;
  const h = half(N);
  /** Noise of one sample, which enters by eta (FedAvg) or by a, in the last variable alone.
   * @param {number} start @param {number[]} column @param {number} share */
  const receive = (start, column, share) =>
    halfOuter(column).forEach((v, i) => {
      noise[V === 1 ? 4 : 8][(start + i) * m] += v * share * model.level ** 2;
    });
  model.groups.forEach(({ H, o, size }, g) => {
    const rows = stepRows({ own: own[g], one: unit[0], mean }, H, o, reading, ends);
    rows.forEach((stack, v) => stack.forEach((row, i) => (A[i][1 + g * V + v] = row)));
    if (spread.includes(g)) {
      const start = h + spread.indexOf(g) * half(V);
      const [unitV, zero] = [identity(V), zeros(V)];
      const view = { own: unitV, one: zero, mean: unitV.map(() => zero) };
      const apart = stepRows(view, H, 0, reading, ends);
      const [inward, outward, after] = [identity(V), identity(V), identity(V)];
      if (V === 3) [inward[2][1], outward[2][1]] = [-H, H];
      for (const v of means) after[v][v] = 0;
      const ahead = times(inward, after);
      const moved = [0, 1, 2].map((i) => times(times(ahead, apart.map((s) => s[i])), outward));
      congruence(moved).forEach((block, ij) =>
        block.forEach((v, at) => {
          const [row, column] = [Math.floor(at / half(V)), at % half(V)];
          still[ij][(start + row) * m + start + column] = v;
        }),
      );
      receive(start, ahead.map((row) => row[V - 1]), 1 - 1 / size);
    }
    receive(0, post.map((row) => row[(g + 1) * V]), 1 / size);
  });
  congruence(A.map((Ai) => withoutRounding(post, Ai, back))).forEach((block, ij) => {
    for (let row = 0; row < h; row += 1) still[ij].set(block.subarray(row * h, (row + 1) * h), row * m);
  });
  for (let i = 0; i < m; i += 1) still[0][i * m + i] -= 1;
  still[0].fill(0, (m - 1) * m);
  still[0].set(gradientForm(model, form, back), (m - 1) * m);
  return { m, still, noise };
}

/** The row of the state that is E||grad f(xbar)||^2.
 * @param {Model} model @param {ReturnType<typeof layout>} form @param {number[][]} back */
function gradientForm(model, { N, variables: V, shares }, back) {
  const gradient = zeros(N);
  const H = model.groups.reduce((sum, group, g) => sum + shares[g] * group.H, 0);
  model.groups.forEach(({ o }, g) => {
    gradient[0] += shares[g] * o;
    gradient[1 + g * V] = H * shares[g]; // of f at xbar: mean H times the mean of x
  });
  const [seen] = times([gradient], back);
  return pairs(N).map(([p, q]) => (p === q ? 1 : 2) * seen[p] * seen[q]);
}

/** The state at t = 1: x_1 common, d_1 a mean of B samples per worker.
 * @param {Model} model @param {string} reading @param {number} x1 @param {number} B */
function firstState(model, reading, x1, B) {
  const form = layout(model, reading);
  const { into } = basis(model, form);
  const gradient = model.groups.reduce((sum, { H, o }, g) => sum + form.shares[g] * (H * x1 + o), 0);
  const own = reading === "fedavg" ? [x1] : [x1, x1, gradient];
  const column = [[1], ...model.groups.flatMap(() => own.map((v) => [v]))];
  const state = halfOuter(times(into, column).map((row) => row[0]));
  if (reading !== "fedavg") {
    const d = column.map((_, i) => [Number(i > 0 && i % 3 === 0)]);
    const variance = model.level ** 2 / (B * form.K);
    halfOuter(times(into, d).map((row) => row[0])).forEach((v, i) => (state[i] += variance * v));
  }
  return [...state, ...zeros(form.size - state.length)];
}

/** What E||grad f||^2 depends on, of all that is in the state: the rest need not be followed.
 * @param {StepMap[]} maps @returns {number[]} */
function followed(maps) {
  const { m } = maps[0];
  const needed = new Set([m - 1]);
  const matrices = maps.flatMap(({ still, noise }) => [...still, ...noise]);
  for (const row of needed) {
    for (const matrix of matrices) {
      for (let j = 0; j < m; j += 1) if (matrix[row * m + j] !== 0) needed.add(j);
    }
  }
  return [...needed].sort((i, j) => i - j);
}

/** A recursion, of what is needed alone; it starts at x_1, with a first batch B.
 * @param {Model} model @param {string} reading @returns {Recursion} */
export function recursionOf(model, reading) {
  const maps = [stepMap(model, reading, false), stepMap(model, reading, true)];
  const kept = followed(maps);
  const [local, ends] = maps.map(({ m, still, noise }) => {
    /** @param {Float64Array} matrix */
    const part = (matrix) => Float64Array.from(kept.flatMap((i) => kept.map((j) => matrix[i * m + j])));
    return { m: kept.length, still: still.map(part), noise: noise.map(part) };
  });
  /** @param {number} x1 @param {number} B */
  const start = (x1, B) => firstState(model, reading, x1, B).filter((_, i) => kept.includes(i));
  return { local, ends, start, early: averagesFirst(reading) };
}

/** Map minus identity at (eta, a), with minibatches of b. @param {StepMap} map
 * @param {number} eta @param {number} a @param {number} b @returns {Float64Array} */
function increment({ m, still, noise }, eta, a, b) {
  const powers = [1, eta, a];
  const total = new Float64Array(m * m);
  for (let ij = 0; ij < 9; ij += 1) {
    const weight = powers[Math.floor(ij / 3)] * powers[ij % 3];
    const [calm, loud] = [still[ij], noise[ij]];
    for (let i = 0; i < total.length; i += 1) total[i] += weight * calm[i] + (weight / b) * loud[i];
  }
  return total;
}

/** (1 + later)(1 + earlier) minus identity. @param {Float64Array} later
 * @param {Float64Array} earlier @param {number} m @returns {Float64Array} */
function compose(later, earlier, m) {
  const found = new Float64Array(m * m);
  for (let i = 0; i < m; i += 1) {
    const row = i * m;
    for (let k = 0; k < m; k += 1) {
      const weight = later[row + k];
      if (weight === 0) continue;
      for (let j = 0, at = k * m; j < m; j += 1) found[row + j] += weight * earlier[at + j];
    }
    for (let j = 0; j < m; j += 1) found[row + j] += later[row + j] + earlier[row + j];
  }
  return found;
}

/** @param {Float64Array} step @param {number} n @param {number} m @returns {Float64Array} */
function power(step, n, m) {
  let total = /** @type {Float64Array} */ (new Float64Array(m * m));
  while (n > 0) {
    if (n % 2 === 1) total = compose(step, total, m);
    n = Math.floor(n / 2);
    if (n > 0) step = compose(step, step, m);
  }
  return total;
}

/** (1/T) sum_{t<=T} E||grad f(xbar_t)||^2 at every T of ``lengths``, whole rounds of constant steps.
 * Infinity where it left the finite numbers.
 * @param {Recursion} recursion @param {Steps} steps @param {number[]} lengths
 * @returns {number[]} */
export function averages({ local, ends, start, early }, { x1, eta, a, b, I, sync_batch }, lengths) {
  const { m } = local;
  const last = increment(ends, eta, a, early && I > 1 ? sync_batch * b : b);
  const rest = power(increment(local, eta, a, b), I - 2, m);
  /** @param {number} size of the first minibatch */
  const round = (size) =>
    I === 1 ? last : compose(last, compose(rest, increment(local, eta, a, size), m), m);
  const begun = applied(round(b), Float64Array.from(start(x1, b * I)));
  const doubled = [round(early ? b : sync_batch * b)]; // no averaging lies before the first round
  return lengths.map((T) => {
    let state = begun;
    for (let left = Math.round(T / I) - 1, j = 0; left > 0; left = Math.floor(left / 2), j += 1) {
      if (j === doubled.length) doubled.push(compose(doubled[j - 1], doubled[j - 1], m));
      if (left % 2 === 1) state = applied(doubled[j], state);
    }
    return Number.isFinite(state[m - 1]) ? state[m - 1] / T : Infinity;
  });
}

/** @param {Float64Array} step @param {Float64Array} state */
function applied(step, state) {
  const m = state.length;
  return state.map((v, i) => v + state.reduce((sum, w, j) => sum + step[i * m + j] * w, 0));
}

/** The same average of one run without noise, step by step: gradients h x + push sin(wave x).
 * @param {{h: number, wave: number, pushes: {size: number, push: number}[]}} problem
 * @param {string} reading @param {import("./bounds.mjs").Schedule} steps @param {number} x1
 * @param {import("./bounds.mjs").Setting} s @param {number[]} lengths  increasing
 * @returns {number[]} */
export function oneRun({ h, wave, pushes }, reading, steps, x1, s, lengths) {
  const K = pushes.reduce((sum, g) => sum + g.size, 0);
  /** @param {number[]} values */
  const mean = (values) => values.reduce((sum, v, g) => sum + v * pushes[g].size, 0) / K;
  /** @param {number} g @param {number} x */
  const gradient = (g, x) => h * x + pushes[g].push * Math.sin(wave * x);
  const x = pushes.map(() => x1);
  let before = pushes.map((_, g) => gradient(g, x1));
  const d = pushes.map(() => mean(before));
  /** @type {number[]} */
  const found = [];
  let total = 0;
  for (let t = 1; t <= lengths[lengths.length - 1]; t += 1) {
    total += (h * mean(x)) ** 2;
    if (t === lengths[found.length]) found.push(total / t);
    const [eta, keep, ends] = [steps.eta(s, t), 1 - steps.a(s, t), t % s.I === 0];
    if (ends && reading === "average-both") before = pushes.map((_, g) => gradient(g, mean(x)));
    for (let g = 0; g < x.length; g += 1) x[g] -= eta * (reading === "fedavg" ? gradient(g, x[g]) : d[g]);
    if (ends && (averagesFirst(reading) || reading === "fedavg")) x.fill(mean(x));
    if (reading === "fedavg") continue;
    const here = x.map((v, g) => gradient(g, v));
    for (let g = 0; g < x.length; g += 1) d[g] = (d[g] - before[g]) * keep + here[g];
    before = here;
    if (ends) {
      x.fill(mean(x));
      d.fill(mean(d));
      if (reading === "overwrite") before = x.map((v, g) => gradient(g, v));
    }
  }
  return found;
}
