// Where the energy goes: by part, in the account of the chosen boundary, with intervals.
import { bars } from "./bars.js";
import { listed, percent, span } from "./format.js";
import { measure } from "./measures.js";
import { figure } from "./registry.js";
import { shownRows } from "./rows.js";
import { OTHERS, PART_COLOURS } from "./theme.js";

const SMALL = 0.005; // parts below this share of every bar are drawn as one
const REST = `parts below ${100 * SMALL} %`;
const ALWAYS = ["multiply", "add"];

function partsOf(data, row, account) {
  const { account: accounts, part, ...joules } = data.tables.energy.columns;
  const key = (i) => (accounts.words[accounts.codes[i]] === account ? part.words[part.codes[i]] : null);
  const [value, low, high] = ["nominal_j", "low_j", "high_j"].map((c) => data.sums("energy", row, key, joules[c]));
  return { value, low, high };
}

function stacksOf(parts, totals) {
  const names = [...Object.keys(PART_COLOURS), ...new Set(
    parts.flatMap((p) => [...p.value.keys()]).filter((name) => !(name in PART_COLOURS)).sort(),
  )];
  const large = (name) => ALWAYS.includes(name)
    || parts.some((p, i) => (p.value.get(name) ?? 0) > SMALL * totals[i]);
  const summed = (members, end) => parts.map(
    (p) => members.reduce((sum, name) => sum + (p[end].get(name) ?? 0), 0),
  );
  const stack = (name, colour, members) => ({
    name, colour, values: summed(members, "value"), low: summed(members, "low"), high: summed(members, "high"),
  });
  const small = names.filter((name) => !large(name));
  return [
    ...names.filter(large).map((name, i) => stack(name, PART_COLOURS[name] ?? OTHERS[i % OTHERS.length], [name])),
    stack(REST, "#bbbbbb", small),
  ];
}

function draw(view) {
  const { data, state } = view;
  const by = measure(view, "energy");
  const { shown: rows, note } = shownRows(view);
  const parts = rows.map((row) => partsOf(data, row, state.boundary));
  const known = rows.filter((row) => Number.isFinite(by.value[row])).length;
  const lacks = (row) => (data.points.fits[row] ? `no ${state.boundary} account` : "does not run here");
  return {
    sentence: sentence(view, by),
    notes: [note, known < rows.length ? `${rows.length - known} of these points have no energy here: they do not run, or their accelerator has no ${state.boundary} account.` : ""],
    plot: known ? bars(view, {
      rows, stacks: stacksOf(parts, rows.map((row) => by.value[row])), unit: "J", title: by.title,
      totals: { of: (row) => by.value[row] || 0, ends: (row) => [by.low[row], by.high[row]] },
      without: lacks,
    }) : null,
  };
}

function sentence(view, by) {
  const { data, state, rows } = view;
  const known = rows.filter((row) => Number.isFinite(by.value[row]));
  if (!known.length) return `No point in the filter has an energy in the ${state.boundary} account.`;
  const row = known.find((r) => data.text("method", r) === state.baseline) ?? known[0];
  const parts = [...partsOf(data, row, state.boundary).value].sort((a, b) => b[1] - a[1]).slice(0, 3);
  const shares = parts.map(([name, joules]) => `${name} ${percent(joules / by.value[row])}`);
  return `${data.text("method", row)} takes ${span(by.value[row], by.low[row], by.high[row], "J")} on `
    + `${data.title(data.text("accelerator", row))} (${state.boundary} account), of which ${listed(shares)}.`;
}

figure("energy", { draw });
