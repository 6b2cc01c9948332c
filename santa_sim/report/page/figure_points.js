// The chosen points as a table: what a keyboard or a screen reader picks points from.
import { percentSpan, several } from "./format.js";
import { measure, printed } from "./measures.js";
import { figure } from "./registry.js";
import { rowLabels } from "./rows.js";

const MOST = 30;

function draw(view) {
  const { data, rows, state } = view;
  const page = Math.min(Number(state.page) || 0, Math.max(0, Math.ceil(rows.length / MOST) - 1));
  const shown = rows.slice(page * MOST, (page + 1) * MOST);
  const labels = rowLabels(data, shown);
  const { rel_error: error, rel_error_low: low, rel_error_high: high } = data.points;
  const costs = ["energy", "time", "bytes"].map((name) => measure(view, name));
  return {
    sentence: `The filter leaves ${several(view.total, "point", "points")}`
      + (rows.length > MOST ? `; ${page * MOST + 1} to ${page * MOST + shown.length} are shown.` : "."),
    tables: [{
      header: ["Pick", "Point", "Error", ...costs.map((by) => by.title), "Held up by"], numeric: [2, 3, 4, 5],
      rows: shown.map((row, i) => [
        { text: "", hint: `pick ${labels[i]}`, row, checked: state.picked.includes(row) }, labels[i],
        percentSpan(error[row], low[row], high[row]), ...costs.map((by) => printed(view, by, row)),
        data.text("bound", row) || data.text("misfit", row).replace(/^does not fit [^:]*: /, "lacks: ") || "–",
      ]),
    }],
    buttons: rows.length > MOST ? [
      { text: "Previous", set: { page: String(page - 1) }, disabled: page === 0 },
      { text: "Next", set: { page: String(page + 1) }, disabled: (page + 1) * MOST >= rows.length },
    ] : [],
  };
}

figure("points", { draw });
