// Answers questions with the page's modules: JSON on stdin, JSON on stdout (Infinity as "inf").
import { readFileSync } from "node:fs";
const folder = process.argv[2];
const { compile, makeBounds, makeSchedules, promised, promisedOnCurve, curveOf, countsOf } = await import(
  `${folder}/bounds.mjs`
);
const { advise } = await import(`${folder}/advice.mjs`);
const { makeFalls } = await import(`${folder}/falls.mjs`);
const { averages, recursionOf, oneRun } = await import(`${folder}/moments.mjs`);
const { data, asked } = JSON.parse(readFileSync(0, "utf8"));
const bounds = makeBounds(data);
const schedules = makeSchedules(data);
const known = { bounds, schedules, costs: data.costs, offered: data.offered };
const termsOf = (name, s) => {
  const { terms } = data.bounds[name];
  const values = compile(Object.values(terms), data.letters)(s);
  return Object.fromEntries(Object.keys(terms).map((key, i) => [key, values[i]]));
};

const answers = {
  bound: ({ name, s }) => {
    const bound = bounds[name];
    const settled = bound.settle(s);
    return {
      value: bound.value(s), terms: termsOf(name, s), premises: bound.premises(s),
      counts: countsOf(data.costs[bound.run], settled),
    };
  },
  curve: ({ name, s, nu }) => curveOf(bounds[name], s.T, s.K, nu, s.L),
  fixed: ({ name, s, epsilon }) => promised(bounds[name], schedules, epsilon, s),
  along: ({ name, s, epsilon, nu }) => promisedOnCurve(bounds[name], epsilon, s, nu),
  moments: ({ model, reading, steps, s, x1 }) => {
    const { eta, a, m } = schedules[steps];
    const at = { x1, eta: eta(s, 1), a: a(s, 1), ...s, sync_batch: m(s) };
    return averages(recursionOf(model, reading), at, [s.T])[0];
  },
  run: ({ problem, reading, steps, s, x1 }) =>
    oneRun(problem, reading, schedules[steps], x1, s, [s.T])[0],
  falls: ({ s }) => makeFalls(data, String)(s),
  advise: ({ q }) => advise(known, q),
};
const found = asked.map((one) => answers[one.kind](one));
console.log(JSON.stringify(found, (_, v) => (v === Infinity ? "inf" : v)));
