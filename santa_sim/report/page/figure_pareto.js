// What accuracy costs: output error against energy, time or bytes; dominated points are grey.
import { count, label, listed, literal, percent, several } from "./format.js";
import { axis, baseLayout, logScale, shareAxis, unitAxis } from "./layout.js";
import { COSTS, isRelative, measure, printed, titleOf, valueOf } from "./measures.js";
import { figure } from "./registry.js";
import { EXACT, longLabel } from "./rows.js";
import { FAMILY_SYMBOLS } from "./theme.js";
import { thinned } from "./thin.js";

const UNUSABLE = 1;
const MOST_LEADING = 300;
const MOST_INTERVALS = 150; // more bars than this cover everything
const MOST_FRONTS = 24;
const NAMES = {
  s2anta_flash: "s2anta_flash (fixed tile budgets)", s2anta_prop: "s2anta_prop (budgets by mass, biased)",
  s2anta_comb: "s2anta_comb (one comb)", bernoulli_qk: "ternary queries",
};

export function hoverOf(view, row) {
  const { data } = view;
  const [method, ...rest] = longLabel(data, row);
  const measured = ["energy", "time", "bytes", "error"].map((name) => {
    const by = measure(view, name);
    return `${name}: ${literal(printed(view, by, row))}`;
  });
  const rows = data.points.samples_requested[row];
  if (Number.isFinite(rows)) {
    measured.push(`${count(data.points.samples_effective[row])} rows drawn per query head, ${count(rows)} asked for`);
  }
  return [
    `<b>${label(method, 60, 8)}</b>`, label(rest.join(", "), 60, 8), ...measured,
    "source: model; intervals from the constants (error: 95 % over seeds)",
  ].join("<br>");
}

function draw(view) {
  const { data, state, theme } = view;
  const { by, front, groups } = view.pareto();
  const known = [...groups.values()].flat();
  if (!known.length) {
    return { sentence: "No point in the filter has both an error and a cost: closed forms have no output, and what does not run costs nothing." };
  }
  const log = state.scale !== "linear";
  const errors = data.points.rel_error;
  const above = known.filter((row) => errors[row] >= EXACT).map((row) => errors[row]);
  const floor = log ? Math.min(...above, 0.1) / 3 : 0;
  const y = (row) => Math.max(errors[row], floor);
  const x = (row) => valueOf(view, by, row)[0];
  const usable = (row) => Number.isFinite(x(row)) && (!log || x(row) > 0);
  const drawn = known.filter(usable);
  const picked = new Set(state.picked);
  const place = (row) => (log ? [Math.log10(x(row)), Math.log10(y(row))] : [x(row), y(row)]);
  const dominated = thinned(
    drawn.filter((row) => !front.has(row) && !picked.has(row)), (r) => place(r)[0], (r) => place(r)[1],
  );
  const first = drawn.filter((row) => front.has(row) || picked.has(row));
  const leading = thinned(first, (r) => place(r)[0], (r) => place(r)[1], MOST_LEADING);
  const withIntervals = leading.length <= MOST_INTERVALS;
  const points = (rows, more) => ({
    type: "scatter", mode: "markers", x: rows.map(x), y: rows.map(y), customdata: rows,
    hovertext: rows.map((row) => hoverOf(view, row)), hoverinfo: "text", ...more,
  });
  const family = (row) => data.text("family", row);
  const traces = [];
  const reach = { x: drawn.map(x), y: drawn.map(y) }; // of all that is drawn, intervals included
  for (const row of leading) {
    reach.x.push(...valueOf(view, by, row));
    reach.y.push(Math.max(data.points.rel_error_low[row], floor), Math.max(data.points.rel_error_high[row], floor));
  }
  if (dominated.length) {
    traces.push(points(dominated, {
      name: "dominated", marker: { color: theme.grey, size: 8, symbol: dominated.map((r) => FAMILY_SYMBOLS[family(r)] ?? "circle") },
    }));
  }
  if (groups.size <= MOST_FRONTS) {
    const lines = [...groups.values()].map(
      (members) => members.filter((row) => front.has(row) && usable(row) && errors[row] <= UNUSABLE),
    );
    // one trace with gaps is much faster than a trace per front
    const joined = (of) => lines.flatMap((line) => [...line.map(of), null]);
    traces.push({
      type: "scatter", mode: "lines", x: joined(x), y: joined(y), hoverinfo: "skip", showlegend: false,
      line: { color: theme.soft, width: 1.2, dash: "dot" },
    });
  }
  for (const name of [...new Set(leading.map(family))]) {
    const rows = leading.filter((row) => family(row) === name);
    traces.push(points(rows, {
      name: literal(NAMES[name] ?? name),
      marker: { color: theme.family(name), size: 11, symbol: FAMILY_SYMBOLS[name] ?? "circle", line: { color: theme.paper, width: 1 } },
      ...(withIntervals ? intervalsOf(view, by, rows) : {}),
    }));
  }
  const rings = drawn.filter((row) => picked.has(row));
  if (rings.length) {
    traces.push({
      ...points(rings, { name: "picked" }), hoverinfo: "skip",
      marker: { size: 19, symbol: "circle-open", color: theme.text, line: { width: 2.5 } },
    });
  }
  return {
    sentence: sentence(view, drawn), plot: { data: traces, layout: layoutOf(view, by, log, floor, reach) },
    notes: [
      dominated.length + leading.length < drawn.length
        ? `${several(drawn.length - dominated.length - leading.length, "point hides", "points hide")} behind others and are not drawn.` : "",
      withIntervals ? "" : "Intervals are drawn where fewer points are on the front; every hover has them.",
      drawn.length < known.length ? `${known.length - drawn.length} points have no baseline to compare with.` : "",
    ],
    tables: state.picked.length ? [details(view)] : [],
  };
}

function intervalsOf(view, by, rows) {
  const { rel_error: error, rel_error_low: low, rel_error_high: high } = view.data.points;
  const colour = view.theme.family(view.data.text("family", rows[0]));
  return {
    error_x: interval(colour, rows.map((row) => {
      const [value, least, most] = valueOf(view, by, row);
      return [value - least, most - value];
    })),
    // a bar that reaches zero has no end on a logarithmic axis
    error_y: interval(colour, rows.map((row) => [Math.min(error[row] - low[row], 0.99 * error[row]), high[row] - error[row]])),
  };
}

function interval(colour, pairs) {
  const finite = (v) => (Number.isFinite(v) ? Math.max(v, 0) : 0);
  return {
    type: "data", symmetric: false, thickness: 1.2, width: 3, color: colour,
    arrayminus: pairs.map(([low]) => finite(low)), array: pairs.map(([, high]) => finite(high)),
  };
}

function layoutOf(view, by, log, floor, reach) {
  const { state, theme, narrow } = view;
  const layout = baseLayout(view, narrow ? 420 : 480);
  const relative = isRelative(view);
  layout.xaxis = relative ? shareAxis(view, titleOf(view, by), log) : unitAxis(view, titleOf(view, by), by.unit, log);
  if (log) Object.assign(layout.xaxis, logScale(view, reach.x));
  layout.yaxis = axis(view, "Output error (relative)", {
    type: log ? "log" : "linear", tickformat: "~%",
    ...(log ? logScale(view, [...reach.y, floor, Number(state.budget)], true) : { rangemode: "tozero" }),
  });
  const top = Math.max(...reach.y, Number(state.budget)) * 1.2;
  layout.dragmode = "zoom";
  layout.shapes = [{
    type: "line", xref: "paper", x0: 0, x1: 1, y0: Number(state.budget), y1: Number(state.budget),
    line: { color: theme.text, width: 1, dash: "dash" },
  }];
  layout.annotations = [{
    xref: "paper", x: 1, xanchor: "right", y: log ? Math.log10(Number(state.budget)) : Number(state.budget),
    yanchor: "bottom", text: `error budget ${percent(Number(state.budget))}`, showarrow: false,
    font: { size: 12, color: theme.soft },
  }];
  if (top > UNUSABLE) {
    layout.shapes.push({
      type: "rect", xref: "paper", x0: 0, x1: 1, y0: UNUSABLE, y1: top * 10, fillcolor: theme.shade,
      line: { width: 0 }, layer: "below",
    });
  }
  return layout;
}

function details(view) {
  const { data, state } = view;
  const rows = state.picked.slice(0, 6);
  const line = (name, of) => [name, ...rows.map(of)];
  return {
    caption: rows.length < state.picked.length
      ? `The first ${rows.length} of ${state.picked.length} picked points` : "Picked points",
    header: ["", ...rows.map((row) => data.text("method", row))], numeric: rows.map((_, i) => i + 1),
    rows: [
      line("accelerator", (row) => data.title(data.text("accelerator", row))),
      line("attention", (row) => data.text("case_label", row)),
      ...["error", "energy", "time", "bytes"].map((name) => {
        const by = measure(view, name);
        return line(by.title.toLowerCase(), (row) => printed(view, by, row));
      }),
      line("held up by", (row) => data.text("bound", row) || "does not run here"),
      line("multiplies", (row) => count(data.points.multiplies[row])),
      line("adds", (row) => count(data.points.adds[row])),
      line("V rows read", (row) => percent(data.points.unique_row_fraction[row])),
      ["pick", ...rows.map((row) => ({ text: "let go", row, checked: true }))],
    ],
  };
}

function sentence(view, drawn) {
  const { data, state } = view;
  const { by, front } = view.pareto();
  const budget = Number(state.budget);
  const within = drawn.filter((row) => data.points.rel_error[row] <= budget);
  const said = `${several(front.size, "point is", "points are")} on the Pareto front of `
    + `${several(drawn.length, "point", "points")}`;
  if (!within.length) return `${said}; none keeps the error within ${percent(budget)}.`;
  const best = within.reduce((a, b) => (by.value[b] < by.value[a] ? b : a));
  const parts = [data.text("method", best), `error ${percent(data.points.rel_error[best])}`, printed(view, by, best)];
  return `${said}; the least ${by.title.split(",")[0].toLowerCase()} within an error of ${percent(budget)} is `
    + `that of ${parts[0]} (${listed(parts.slice(1))}).`;
}

figure("pareto", {
  controls: [{ key: "cost", label: "Against", options: () => COSTS }], draw,
});
