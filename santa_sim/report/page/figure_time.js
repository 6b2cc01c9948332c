// How long a step takes at least, and which resource holds it up.
import { bars } from "./bars.js";
import { si, span } from "./format.js";
import { measure } from "./measures.js";
import { figure } from "./registry.js";
import { shownRows } from "./rows.js";
import { OTHERS } from "./theme.js";

const MEMORY = "memory";

function draw(view) {
  const { data } = view;
  const by = measure(view, "time");
  const { shown: rows, note } = shownRows(view);
  const known = rows.filter((row) => Number.isFinite(by.value[row])).length;
  // the colours of resources are those of the whole study, whatever is filtered
  const resources = data.points.bound.words.filter((word) => word && word !== MEMORY);
  const stacks = [MEMORY, ...resources].map((bound, i) => ({
    name: `held up by ${bound}`, colour: OTHERS[i % OTHERS.length],
    values: rows.map((row) => (data.text("bound", row) === bound ? by.value[row] : 0)),
    low: rows.map((row) => by.low[row]), high: rows.map((row) => by.high[row]),
  }));
  return {
    sentence: sentence(view, by),
    notes: [note, known < rows.length ? `${rows.length - known} of these points do not run on their accelerator.` : ""],
    plot: known ? bars(view, {
      rows, stacks, unit: "s", title: by.title,
      totals: { of: (row) => by.value[row] || 0, ends: (row) => [by.low[row], by.high[row]] },
      marks: [{
        name: "without overlap", symbol: "diamond", values: rows.map((row) => data.points.time_no_overlap_s[row]),
      }],
      without: () => "does not run here",
    }) : null,
  };
}

function sentence(view, by) {
  const { data, rows, state } = view;
  const known = rows.filter((row) => Number.isFinite(by.value[row]));
  if (!known.length) return "No point in the filter runs on its accelerator.";
  const held = known.filter((row) => data.text("bound", row) === MEMORY).length;
  const row = known.find((r) => data.text("method", r) === state.baseline) ?? known[0];
  return `${held} of ${known.length} points are held up by memory; ${data.text("method", row)} takes at least `
    + `${span(by.value[row], by.low[row], by.high[row], "s")} on ${data.title(data.text("accelerator", row))} `
    + `(${data.text("bound", row)}), and ${si(data.points.time_no_overlap_s[row], "s")} without any overlap.`;
}

figure("time", { draw });
