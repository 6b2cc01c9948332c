// The best configuration per accelerator at the chosen error budget, as a table.
import { percent, percentSpan, several, si } from "./format.js";
import { baseline, measure, printed, shareOf } from "./measures.js";
import { figure } from "./registry.js";
import { chosen } from "./state.js";

const MOST = 60;

export function withinBudget(data, row, budget) {
  const { rel_error: error, rel_error_high: high } = data.points;
  return (Number.isFinite(high[row]) ? high[row] : error[row]) <= budget;
}

function draw(view) {
  const { data, state } = view;
  const budget = Number(state.budget);
  const by = measure(view, "energy");
  // every accelerator is a line, whatever the filter of accelerators says: it is what one compares
  const rows = chosen(data, state, "accelerator");
  const groups = new Map();
  for (const row of rows) {
    const key = `${data.points.case[row]}\n${data.text("accelerator", row)}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  const found = [...groups.values()].map((members) => ({
    first: members[0], best: bestOf(data, members, by, budget), runs: members.some((row) => data.points.fits[row]),
  }));
  const cases = new Set(found.map(({ first }) => data.points.case[first])).size;
  const header = ["Accelerator", ...(cases > 1 ? ["Attention"] : []), "Method", "Error", `Energy (${state.boundary})`, "Time", "Bytes moved"];
  const lines = found.slice(0, MOST).map((one) => line(view, one, by, cases > 1));
  const where = cases === 1 && found.length ? `${data.text("case_label", found[0].first)}: ` : "";
  return {
    sentence: sentence(view, found, by, budget),
    tables: [{
      caption: `${where}least energy with an error up to ${percent(budget)}`, header, rows: lines,
      numeric: [3, 4, 5, 6].map((i) => i - (cases > 1 ? 0 : 1)),
    }],
    notes: [
      `In brackets: range from the constants. Shares are of ${state.baseline || "nothing: there is no baseline"}, both sides at the same end; where it does not run, of the twin that runs it.`,
      found.length > MOST ? `${found.length - MOST} more lines; narrow the filter to see them.` : "",
    ],
  };
}

function bestOf(data, rows, by, budget) {
  return rows.filter((row) => data.points.fits[row] && Number.isFinite(by.value[row]) && withinBudget(data, row, budget))
    .reduce((best, row) => (best < 0 || by.value[row] < by.value[best] ? row : best), -1);
}

function line(view, { first, best, runs }, by, withCase) {
  const { data, state } = view;
  const machine = data.text("accelerator", first);
  const only = state.accelerator?.length === 1 && state.accelerator[0] === machine;
  const start = [
    only ? data.title(machine) : { text: data.title(machine), set: { accelerator: [machine] }, hint: "show only this accelerator" },
    ...(withCase ? [data.text("case_label", first)] : []),
  ];
  if (best < 0) {
    const why = !runs ? "none runs" : Number.isFinite(data.points.rel_error[first]) ? "none within the budget" : "errors unknown";
    return [...start, why, "–", "–", "–", "–"];
  }
  const { rel_error: error, rel_error_low: low, rel_error_high: high } = data.points;
  return [
    ...start, data.text("method", best), percentSpan(error[best], low[best], high[best]),
    ...["energy", "time", "bytes"].map((name) => printed(view, measure(view, name), best)),
  ];
}

function sentence(view, found, by, budget) {
  const { data, state } = view;
  const best = found.filter((one) => one.best >= 0);
  const many = new Set(found.map((one) => data.points.case[one.first])).size > 1 ? "pair of accelerator and attention" : "accelerator";
  const said = `Within an error of ${percent(budget)}, ${best.length} of ${several(found.length, many, many.replace(/^pair|accelerator$/, "$&s"))} have a usable method`;
  const saving = best.map((one) => ({ ...one, share: baseline(view, one.best) < 0 ? NaN : shareOf(view, by, one.best)[0] }))
    .filter((one) => Number.isFinite(one.share)).sort((a, b) => a.share - b.share)[0];
  if (!saving) return `${said}.`;
  const method = data.text("method", saving.best);
  if (saving.share >= 1) return `${said}; none takes less energy than ${state.baseline}.`;
  return `${said}; the most is saved by ${method} on ${data.title(data.text("accelerator", saving.best))}: `
    + `${si(by.value[saving.best], "J")}, ${percent(saving.share)} of the energy of ${state.baseline}.`;
}

figure("summary", { draw });
