// Which of the chosen rows a figure has room for, what they are called, and what is on the front.
import { several, whole } from "./format.js";
import { measure } from "./measures.js";

const ROOM = 28;
const NAMES = [
  ["folder", (data, row) => (data.points.folder ? data.text("folder", row) : "")],
  ["accelerator", (data, row) => data.title(data.text("accelerator", row))],
  ["attention", (data, row) => data.text("attention", row)],
  ["context", (data, row) => `${whole(data.points.context[row])} tokens`],
  ["batch", (data, row) => `batch ${data.points.batch[row]}`],
];

export const EXACT = 1e-5; // relative error up to which a method counts as exact: rounding alone

// {by, front: set of rows, groups: "case, machine" -> its rows by cost}: a row is on the front if no
// other of its case on its machine has both less error and less cost
export function paretoOf(view) {
  const { data, rows, state } = view;
  const by = measure(view, state.cost);
  const error = data.points.rel_error;
  const machines = data.points.accelerator;
  const groups = new Map();
  for (const row of rows) {
    if (!data.points.fits[row] || !Number.isFinite(by.value[row]) || !Number.isFinite(error[row])) continue;
    const key = data.points.case[row] * machines.words.length + machines.codes[row];
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  const front = new Set();
  for (const members of groups.values()) {
    // what differs by rounding alone is equally exact
    const level = (row) => Math.max(error[row], EXACT);
    members.sort((a, b) => by.value[a] - by.value[b] || level(a) - level(b));
    let best = null;
    for (const row of members) {
      const equal = best !== null && level(row) === level(best) && by.value[row] === by.value[best];
      if (best === null || level(row) < level(best)) best = row;
      if (equal || best === row) front.add(row);
    }
  }
  return { by, front, groups };
}

// the rows of a figure with one bar each, and a note if they are not all
export function shownRows(view) {
  const { data, rows, state } = view;
  const all = state.picked.length ? rows.filter((row) => state.picked.includes(row)) : rows;
  if (all.length <= ROOM) return { shown: all, note: "" };
  const { by, front } = view.pareto();
  const rank = (row) => {
    if (data.text("method", row) === state.baseline) return 0;
    return front.has(row) ? 1 : 2;
  };
  const cost = (row) => (Number.isFinite(by.value[row]) ? by.value[row] : Infinity);
  const best = [...all].sort((a, b) => rank(a) - rank(b) || cost(a) - cost(b) || a - b).slice(0, ROOM);
  return {
    shown: best.sort((a, b) => a - b),
    note: `${ROOM} of ${several(all.length, "point", "points")}: the baseline, the Pareto front, and `
      + "then those of least cost. Narrow the filter, or pick points in the Pareto figure, to see others.",
  };
}

// one text per row: its method, and whatever else differs between the rows
export function rowLabels(data, rows) {
  const differing = NAMES.filter(([name]) => {
    const { codes } = data.facets[name];
    return rows.some((row) => codes[row] !== codes[rows[0]]);
  });
  return rows.map((row) => [
    data.text("method", row), ...differing.map(([, text]) => text(data, row)),
  ].join(", "));
}

export function longLabel(data, row) {
  return [data.text("method", row), ...NAMES.map(([, text]) => text(data, row)).filter(Boolean)];
}

export function aboutRows(view) {
  const { data, rows } = view;
  const said = [];
  for (const [name, text] of NAMES) {
    const { codes } = data.facets[name];
    const distinct = new Set(rows.map((row) => codes[row]));
    if (name === "folder" && distinct.size < 2) continue;
    if (distinct.size === 1 && (name !== "batch" || data.points.batch[rows[0]] > 1)) said.push(text(data, rows[0]));
    else if (distinct.size > 1) said.push(`${distinct.size} ${name === "folder" ? "runs" : name === "attention" ? "kinds of attention" : name === "batch" ? "batches" : `${name}s`}`);
  }
  return said.join(", ");
}
