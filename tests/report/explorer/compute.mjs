// Answers questions with the page's modules: JSON on stdin, JSON on stdout (Infinity as "inf").
import { readFileSync } from "node:fs";
const folder = process.argv[2];
const { makeBounds, makeSchedules, promised, promisedOnCurve, curveOf, countsOf } = await import(
  `${folder}/bounds.mjs`
);
const { advise } = await import(`${folder}/advice.mjs`);
const { averages, recursionOf, oneRun } = await import(`${folder}/moments.mjs`);
const { data, asked } = JSON.parse(readFileSync(0, "utf8"));
const bounds = makeBounds(data);
const schedules = makeSchedules(data);
const known = { bounds, schedules, costs: data.costs, offered: data.offered };

const answers = {
  bound: ({ name, s }) => {
    const bound = bounds[name];
    const settled = bound.settle(s);
    return {
      value: bound.value(s), terms: bound.termsAt(s), premises: bound.premises(s),
      counts: countsOf(data.costs[bound.algorithm === "stem" ? "literal" : "fedavg"], settled),
    };
  },
  curve: ({ name, s, nu }) => curveOf(bounds[name], s.T, s.K, nu, s.L),
  fixed: ({ name, s, epsilon }) => promised(bounds[name], schedules, epsilon, s),
  along: ({ name, s, epsilon, nu }) => promisedOnCurve(bounds[name], epsilon, s, nu),
  schedule: ({ s, t }) => ({
    eta: schedules.eta(s, t), c: schedules.c(s), end: schedules.constantPhaseEnd(s),
    fedavg: schedules.fedavgEta(s),
  }),
  moments: ({ model, reading, s, x1 }) => {
    const eta = reading === "fedavg" ? schedules.fedavgEta(s) : schedules.eta(s, 1);
    const a = schedules.c(s) * eta * eta;
    const recursion = recursionOf(model, reading);
    return averages(recursion, { x1, eta, a, b: s.b, I: s.I }, [s.T])[0];
  },
  run: ({ problem, reading, s, x1 }) => {
    const fedavg = reading === "fedavg";
    const eta = (t) => (fedavg ? schedules.fedavgEta(s) : schedules.eta(s, t));
    return oneRun(problem, reading, eta, schedules.c(s), x1, s.I, [s.T])[0];
  },
  advise: ({ q }) => advise(known, q),
};
const found = asked.map((one) => answers[one.kind](one));
console.log(JSON.stringify(found, (_, v) => (v === Infinity ? "inf" : v)));
