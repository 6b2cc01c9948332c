// Stacked bars, one row per point; on a logarithmic axis, where lengths mean nothing, dots.
import { count, label, literal, percent, si, span } from "./format.js";
import { logScale, rowLayout, shareAxis, unitAxis } from "./layout.js";
import { baseline, isRelative } from "./measures.js";
import { rowLabels } from "./rows.js";

// stacks: [{name, colour, values, low, high}], ends if known; totals: {value, low, high} per bar, ends
// if known; marks: [{name, symbol, values}]; all in the unit, one entry per row.
// without: what is said where a bar is missing.
export function bars(view, { rows, stacks, totals, marks = [], unit, title, hatched = () => false, without }) {
  const { data, state, theme } = view;
  const log = state.scale === "log";
  const relative = isRelative(view);
  const labels = rowLabels(data, rows);
  const layout = rowLayout(view, labels);
  const bases = rows.map((row) => {
    if (!relative) return 1;
    const base = baseline(view, row);
    return base < 0 ? NaN : totals.of(base);
  });
  const drawn = (values) => values.map((v, i) => {
    const shown = v / bases[i];
    return Number.isFinite(shown) && (!log || shown > 0) ? shown : null;
  });
  const shown = relative ? `${title}, share of ${state.baseline}` : `${title} per decode step and layer`;
  layout.xaxis = relative ? shareAxis(view, shown, log) : unitAxis(view, shown, unit, log);
  layout.barmode = "stack";
  const hover = (name, i, value, low, high) => {
    if (!Number.isFinite(value)) return "";
    const size = !unit ? `${count(value)} operations`
      : Number.isFinite(low) && low !== high ? span(value, low, high, unit) : si(value, unit);
    const share = relative ? `, ${percent(value / bases[i])} of ${literal(state.baseline)}` : "";
    return `<b>${label(labels[i], 60, 8)}</b><br>${literal(name)}: ${size}${share}`;
  };
  const traces = [];
  for (const { name, colour, values, low, high } of stacks) {
    if (!values.some((v) => v > 0)) continue;
    const common = {
      name: literal(name), x: drawn(values), y: rows.map((_, i) => i), customdata: [...rows],
      hovertext: values.map((v, i) => hover(name, i, v, low?.[i], high?.[i])), hoverinfo: "text",
    };
    traces.push(log ? {
      ...common, type: "scatter", mode: "markers",
      marker: { color: theme.on(colour), size: 11, line: { color: theme.paper, width: 1 } },
    } : {
      ...common, type: "bar", orientation: "h", textposition: "none",
      marker: {
        color: theme.on(colour), line: { color: theme.paper, width: 0.5 },
        pattern: {
          shape: rows.map((row) => (hatched(row) ? "/" : "")), fillmode: "overlay",
          fgcolor: theme.paper, size: 6,
        },
      },
    });
  }
  const sums = rows.map(totals.of);
  if (totals.ends) {
    const [low, high] = [0, 1].map((end) => rows.map((row) => totals.ends(row)[end]));
    const [x, l, h] = [drawn(sums), drawn(low), drawn(high)];
    traces.push({
      type: "scatter", mode: "markers", name: "total, and its range from the constants", x,
      y: rows.map((_, i) => i), customdata: [...rows],
      marker: { color: theme.text, size: log ? 9 : 5, symbol: log ? "line-ns-open" : "line-ns-open" },
      hovertext: sums.map((v, i) => hover("total", i, v, low[i], high[i])), hoverinfo: "text",
      error_x: {
        type: "data", symmetric: false, thickness: 1.4, width: 4, color: theme.text,
        array: x.map((v, i) => (v === null || h[i] === null ? 0 : h[i] - v)),
        arrayminus: x.map((v, i) => (v === null || l[i] === null ? 0 : v - l[i])),
      },
    });
  }
  // what lies far beyond the bars would make them invisible; it is drawn at the edge
  const longest = Math.max(...drawn(sums), ...(totals.ends ? drawn(rows.map((row) => totals.ends(row)[1])) : []));
  const edge = log || !(longest > 0) ? Infinity : 2 * longest;
  let beyond = false;
  for (const { name, symbol, values } of marks) {
    const x = drawn(values);
    const far = x.map((v) => v > edge);
    beyond ||= far.includes(true);
    traces.push({
      type: "scatter", mode: "markers", name: literal(name), x: x.map((v, i) => (far[i] ? edge : v)),
      y: rows.map((_, i) => i), customdata: [...rows], hoverinfo: "text", cliponaxis: false,
      hovertext: values.map((v, i) => hover(name, i, v) + (far[i] ? " (beyond the axis)" : "")),
      marker: {
        symbol: far.map((yes) => (yes ? "triangle-right" : symbol)), size: 9, color: theme.paper,
        line: { color: theme.text, width: 1.5 },
      },
    });
  }
  if (beyond) layout.xaxis.range = [0, edge * 1.02];
  if (log) {
    const ends = traces.flatMap(({ x, error_x: e }) => x.flatMap((v, i) => (
      v === null ? [] : e ? [v, v - e.arrayminus[i], v + e.array[i]] : [v])));
    Object.assign(layout.xaxis, logScale(view, ends));
  }
  layout.annotations.push(...rows.flatMap((row, i) => (sums[i] > 0 && Number.isFinite(bases[i]) ? [] : [{
    x: 0, xref: "paper", xanchor: "left", y: i, yanchor: "middle", xshift: 4, showarrow: false,
    text: sums[i] > 0 ? "no baseline to compare with" : without(row),
    font: { size: 12, color: theme.soft },
  }])));
  if (!sums.some((v) => v > 0)) layout.xaxis.range = [0, 1];
  return { data: traces, layout };
}
