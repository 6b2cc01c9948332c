// Predicted beside measured kernel times: parity, error against size, distribution, residual by term.
import { label, literal, listed, percent, several, si } from "./format.js";
import { axis, baseLayout, logScale, shareAxis, unitAxis } from "./layout.js";
import { figure } from "./registry.js";
import { OTHERS } from "./theme.js";

const SYMBOLS = ["square", "star", "hexagon", "pentagon", "x", "diamond", "circle", "triangle-up"];
const BIN = 0.02;

// the measured points of the machines in the filter, one object each
function measured(view) {
  const { data, rows } = view;
  const { rows: count, columns } = data.tables.validation;
  const machines = new Set(rows.map((row) => data.text("accelerator", row)));
  const text = (column, i) => columns[column].words[columns[column].codes[i]];
  const found = [];
  for (let i = 0; i < count; i += 1) {
    if (!machines.has(text("accelerator", i))) continue;
    const number = (column) => columns[column][i];
    found.push({
      kernel: text("kernel", i), bound: text("bound", i), l2: text("l2", i), dtype: text("dtype", i),
      inputs: text("inputs", i), layout: text("kv_layout", i), batch: number("batch"), context: number("context"),
      dim: number("head_dim"), samples: number("samples"), measured: number("measured_s"), low: number("low_s"),
      high: number("high_s"), predicted: number("predicted_s"), error: number("error"), noise: number("noise"),
    });
  }
  return found;
}

const NOTHING = { sentence: "No accelerator in the filter was measured." };

function hover(p) {
  const drawn = p.samples ? `, S = ${p.samples}` : "";
  return [
    `<b>${literal(p.kernel)}</b> held out`,
    literal(`batch ${p.batch}, ${p.context.toLocaleString("en-US")} tokens, d = ${p.dim}${drawn}`),
    literal(`${p.dtype}, ${p.layout}, ${p.inputs}, L2 ${p.l2}`),
    `measured ${si(p.measured, "s")} [${si(p.low, "s")}, ${si(p.high, "s")}]`,
    `predicted ${si(p.predicted, "s")} (${signed(p.error)})`, `decided by ${literal(p.bound)}`,
  ].join("<br>");
}

function signed(error) {
  return `${error < 0 ? "−" : "+"}${percent(Math.abs(error))}`;
}

function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

function byKernel(points) {
  const found = new Map();
  for (const p of points) {
    if (!found.has(p.kernel)) found.set(p.kernel, []);
    found.get(p.kernel).push(p);
  }
  return found;
}

function traces(view, points, x, y) {
  return [...byKernel(points)].map(([name, members], i) => ({
    type: "scatter", mode: "markers", name: `${literal(name)} (held out)`, x: members.map(x), y: members.map(y),
    hovertext: members.map(hover), hoverinfo: "text",
    marker: { color: view.theme.on(OTHERS[i % OTHERS.length]), symbol: SYMBOLS[i % SYMBOLS.length], size: 8, opacity: 0.8 },
  }));
}

function dashed(view, x, y, name, showlegend) {
  return {
    type: "scatter", mode: "lines", x, y, name, showlegend, hoverinfo: "skip",
    line: { color: view.theme.soft, width: 1.2, dash: "dash" },
  };
}

function parity(view) {
  const points = measured(view);
  if (!points.length) return NOTHING;
  const all = points.flatMap((p) => [p.measured, p.predicted]);
  const ends = [Math.min(...all) / 1.1, Math.max(...all) * 1.1];
  const noise = quantile(points.map((p) => p.noise), 0.5);
  const shown = [
    { type: "scatter", mode: "lines", x: ends, y: ends, name: "equal", hoverinfo: "skip", line: { color: view.theme.line, width: 1 } },
    dashed(view, ends, ends.map((v) => v * (1 + noise)), `median noise, ±${percent(noise)}`, true),
    dashed(view, ends, ends.map((v) => v * (1 - noise)), "", false),
    ...traces(view, points, (p) => p.measured, (p) => p.predicted),
  ];
  const layout = baseLayout(view, view.narrow ? 420 : 460);
  layout.dragmode = "zoom";
  layout.xaxis = unitAxis(view, "Measured", "s", true, logScale(view, all));
  layout.yaxis = unitAxis(view, "Predicted", "s", true, logScale(view, all, true));
  const sizes = points.map((p) => Math.abs(p.error));
  return {
    sentence: `${several(points.length, "point", "points")}: off by ${percent(quantile(sizes, 0.5))} in the median, `
      + `${percent(quantile(sizes, 0.9))} for nine in ten, ${percent(Math.max(...sizes))} at most.`,
    plot: { data: shown, layout },
  };
}

function sizeError(view) {
  const points = measured(view);
  if (!points.length) return NOTHING;
  const size = (p) => p.batch * p.context;
  const steps = [...new Set(points.map(size))].sort((a, b) => a - b);
  const noise = steps.map((step) => quantile(points.filter((p) => size(p) === step).map((p) => p.noise), 0.5));
  const shown = [
    dashed(view, steps, noise, "median noise", true), dashed(view, steps, noise.map((v) => -v), "", false),
    ...traces(view, points, size, (p) => p.error),
  ];
  const layout = baseLayout(view, view.narrow ? 400 : 420);
  layout.dragmode = "zoom";
  layout.xaxis = axis(view, "Batch × context (tokens)", {
    type: "log", tickmode: "array", tickvals: steps, tickformat: view.narrow ? "~s" : ",d",
  });
  layout.yaxis = shareAxis(view, "Predicted / measured − 1", false, { rangemode: "normal", zeroline: true });
  const medians = steps.map((step) => quantile(points.filter((p) => size(p) === step).map((p) => Math.abs(p.error)), 0.5));
  const at = (value) => steps[medians.indexOf(value)].toLocaleString("en-US");
  const [best, worst] = [Math.min(...medians), Math.max(...medians)];
  return {
    sentence: steps.length > 1
      ? `The median error is least at ${at(best)} tokens in all (${percent(best)}) and largest at ${at(worst)} (${percent(worst)}).`
      : `All points have ${at(best)} tokens in all.`,
    plot: { data: shown, layout },
  };
}

function errorShares(view) {
  const points = measured(view);
  if (!points.length) return NOTHING;
  const bins = points.map((p) => Math.floor(p.error / BIN));
  const [first, last] = [Math.min(...bins), Math.max(...bins)];
  const centres = Array.from({ length: last - first + 1 }, (_, i) => (first + i + 0.5) * BIN);
  const shown = [...byKernel(points)].map(([name, members], i) => ({
    type: "bar", name: `${literal(name)} (held out)`, x: centres,
    y: centres.map((_, j) => members.filter((p) => Math.floor(p.error / BIN) === first + j).length),
    marker: { color: view.theme.on(OTHERS[i % OTHERS.length]) },
    hovertemplate: `%{y} of ${literal(name)} between %{customdata}<extra></extra>`,
    customdata: centres.map((c) => `${signed(c - BIN / 2)} and ${signed(c + BIN / 2)}`),
  }));
  const layout = baseLayout(view, view.narrow ? 380 : 400);
  layout.barmode = "stack";
  layout.bargap = 0.05;
  layout.xaxis = shareAxis(view, "Predicted / measured − 1", false, { rangemode: "normal" });
  layout.yaxis = axis(view, "Points");
  const low = points.filter((p) => p.error < 0).length;
  return {
    sentence: `${several(low, "point is", "points are")} predicted too fast and ${several(points.length - low, "one", "points")} too slow.`,
    plot: { data: shown, layout },
  };
}

function termErrors(view) {
  const points = measured(view);
  if (!points.length) return NOTHING;
  const terms = new Map();
  for (const p of points) {
    if (!terms.has(p.bound)) terms.set(p.bound, []);
    terms.get(p.bound).push(p);
  }
  const median = (members) => quantile(members.map((p) => Math.abs(p.error)), 0.5);
  const order = [...terms].sort((a, b) => median(b[1]) - median(a[1]));
  const shown = order.map(([name, members], i) => ({
    type: "box", orientation: "h", name, x: members.map((p) => p.error), y: members.map(() => i),
    boxpoints: "all", jitter: 0.4, pointpos: 0, showlegend: false, width: 0.5,
    hovertext: members.map(hover), hoverinfo: "text",
    marker: { color: view.theme.on(OTHERS[0]), size: 5, opacity: 0.6 }, line: { width: 1.2 },
    fillcolor: "rgba(0,0,0,0)",
  }));
  const layout = baseLayout(view, 90 + 54 * order.length);
  layout.xaxis = shareAxis(view, "Predicted / measured − 1", false, { rangemode: "normal", zeroline: true });
  layout.yaxis = {
    automargin: true, tickmode: "array", tickvals: order.map((_, i) => i),
    ticktext: order.map(([name, members]) => label(`${name} (${members.length})`, view.narrow ? 16 : 34, 3)),
    range: [order.length - 0.5, -0.5], showgrid: false, zeroline: false,
  };
  const named = order.slice(0, 2).map(([name, members]) => `${name} (median ${percent(median(members))}, ${several(members.length, "point", "points")})`);
  return { sentence: `The terms behind the largest errors: ${listed(named)}.`, plot: { data: shown, layout } };
}

figure("parity", { draw: parity });
figure("size_error", { draw: sizeError });
figure("error_shares", { draw: errorShares });
figure("term_errors", { draw: termErrors });
