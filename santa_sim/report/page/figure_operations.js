// Which operations remain: multiplies, adds and others, by phase.
import { bars } from "./bars.js";
import { count } from "./format.js";
import { figure } from "./registry.js";
import { shownRows } from "./rows.js";
import { OTHERS, PHASE_COLOURS } from "./theme.js";

const KINDS = [
  ["multiply", "multiplies, by phase"], ["add", "adds, by phase"], ["other", "all others, by kind"],
  ["all", "all, by kind"],
];
const ADDS = ["add", "accumulate"];
const WORDS = {
  multiply: "multiplies", add: "adds", accumulate: "weighted row additions", exp: "exponentials",
  divide: "divisions", shift: "shifts", compare: "comparisons", convert: "conversions",
  random_bits: "random bits", address: "addresses", random_product: "products with a random number",
};

function keyOf(data, which) {
  const { kind, phase } = data.tables.operations.columns;
  const kindOf = (i) => kind.words[kind.codes[i]];
  const words = (i) => WORDS[kindOf(i)] ?? kindOf(i);
  if (which === "all") return words;
  if (which === "other") return (i) => (kindOf(i) === "multiply" || ADDS.includes(kindOf(i)) ? null : words(i));
  const wanted = which === "add" ? ADDS : [which];
  return (i) => (wanted.includes(kindOf(i)) ? phase.words[phase.codes[i]] : null);
}

function counted(data, row, which) {
  return data.sums("operations", row, keyOf(data, which), data.tables.operations.columns.count);
}

function total(sums) {
  return [...sums.values()].reduce((a, b) => a + b, 0);
}

function draw(view) {
  const { data, state } = view;
  const { shown: rows, note } = shownRows(view);
  const which = state.operations;
  const sums = rows.map((row) => counted(data, row, which));
  const found = [...new Set(sums.flatMap((s) => [...s.keys()]))];
  const phases = Object.keys(PHASE_COLOURS).filter((phase) => found.includes(phase));
  const names = [...phases, ...found.filter((name) => !phases.includes(name))];
  const lacking = rows.filter((row) => !data.points.fits[row]).length;
  return {
    sentence: sentence(view, rows),
    notes: [note, lacking ? `Hatched: ${lacking} of these do not run on their accelerator; the bars show what they ask for.` : ""],
    plot: rows.length ? bars(view, {
      rows, unit: "", title: { multiply: "Multiplies", add: "Adds", other: "Other operations", all: "Operations" }[which],
      stacks: names.map((name, i) => ({
        name, colour: PHASE_COLOURS[name] ?? OTHERS[i % OTHERS.length], values: sums.map((s) => s.get(name) ?? 0),
      })),
      totals: { of: (row) => total(counted(data, row, which)) },
      hatched: (row) => !data.points.fits[row], without: () => "0",
    }) : null,
  };
}

function sentence(view, rows) {
  const { data } = view;
  const running = rows.filter((row) => data.points.fits[row]);
  const free = running.filter((row) => data.points.multiplies[row] === 0).length;
  const said = `${running.length} of these ${rows.length} points run on their accelerator; `
    + `${free || "none"} of them without a multiply`;
  const base = running.find((row) => data.text("method", row) === view.state.baseline);
  if (base === undefined) return `${said}.`;
  return `${said}. ${view.state.baseline} takes ${count(data.points.multiplies[base])} multiplies and `
    + `${count(data.points.adds[base])} adds.`;
}

figure("operations", { controls: [{ key: "operations", label: "Operations", options: () => KINDS }], draw });
