// How costs grow with context, batch or S, and where a method crosses the baseline.
import { label, literal, listed, several, si, percent } from "./format.js";
import { axis, baseLayout, logScale, shareAxis, unitAxis } from "./layout.js";
import { isRelative, measure, printed, titleOf, valueOf } from "./measures.js";
import { figure } from "./registry.js";
import { hoverOf } from "./figure_pareto.js";
import { withinBudget } from "./figure_summary.js";
import { chosen } from "./state.js";
import { FAMILY_SYMBOLS } from "./theme.js";

const ALONG = [["context", "context (tokens)"], ["batch", "batch"], ["samples", "samples S"]];
const MEASURES = [["energy", "energy"], ["time", "time"], ["bytes", "bytes moved"], ["error", "output error"]];
const MOST = 12;
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];

// key -> {rows by x, machine, name}: one line per method, machine and what else is not along x
function linesOf(view, along) {
  const { data, state } = view;
  const by = measure(view, state.measure);
  const x = along === "samples" ? data.points.samples_requested : data.points[along];
  const lines = new Map();
  for (const row of chosen(data, state, along)) {
    if (!data.points.fits[row] || !Number.isFinite(by.value[row])) continue;
    const name = data.text(along === "samples" ? "series" : "method", row);
    const rest = ["attention", "context", "batch"].filter((f) => f !== along)
      .map((f) => data.facets[f].values[data.facets[f].codes[row]]);
    const place = [data.text("accelerator", row), ...rest].join("\n");
    const key = `${name}\n${place}`;
    if (!lines.has(key)) lines.set(key, { name, place, rows: [] });
    lines.get(key).rows.push(row);
  }
  for (const line of lines.values()) {
    line.rows.sort((a, b) => x[a] - x[b]);
    line.x = (row) => x[row];
  }
  return { by, lines: [...lines.values()] };
}

// where `line` changes sides of `base`: straight on logarithmic axes between neighbouring points
export function crossings(line, base, value) {
  const level = base.rows.length && !Number.isFinite(base.x(base.rows[0]));
  const at = new Map(base.rows.map((row) => [base.x(row), value(row)]));
  const both = line.rows.map((row) => [line.x(row), value(row), level ? value(base.rows[0]) : at.get(line.x(row))])
    .filter((p) => p.every((v) => Number.isFinite(v) && v > 0)).map((p) => p.map(Math.log));
  const found = [];
  for (let i = 1; i < both.length; i += 1) {
    const [[x0, a0, b0], [x1, a1, b1]] = [both[i - 1], both[i]];
    const [d0, d1] = [a0 - b0, a1 - b1];
    if (d0 * d1 >= 0) continue;
    const t = d0 / (d0 - d1);
    found.push({ x: Math.exp(x0 + t * (x1 - x0)), y: Math.exp(a0 + t * (a1 - a0)), cheaperAfter: d1 < 0 });
  }
  return found;
}

function draw(view) {
  const { data, state, theme } = view;
  const along = state.along;
  const { by, lines: all } = linesOf(view, along);
  const isBase = (line) => line.name === state.baseline;
  // first the picked, then the baseline, then what keeps the error budget where it ends
  const kept = (line) => withinBudget(data, line.rows.at(-1), Number(state.budget));
  const rank = (line) => {
    if (line.rows.some((row) => state.picked.includes(row))) return 0;
    if (isBase(line)) return 1;
    return kept(line) ? 2 : 3;
  };
  const last = (line) => by.value[line.rows.at(-1)];
  const lines = [...all].sort((a, b) => rank(a) - rank(b) || last(a) - last(b)).slice(0, MOST);
  const word = ALONG.find(([key]) => key === along)[1];
  const xs = new Set(all.flatMap((line) => line.rows.map(line.x)).filter(Number.isFinite));
  if (xs.size < 2) {
    return { sentence: `The points in the filter have ${xs.size ? "one value" : "no value"} of ${word}, so nothing scales with it.` };
  }
  const log = state.scale !== "linear";
  const ends = [Math.min(...xs), Math.max(...xs)];
  const chosenNow = new Set(view.rows);
  const traces = [];
  const marks = [];
  const places = [...new Set(lines.map((line) => line.place))];
  const named = new Set();
  const known = new Set();
  const inFamily = new Map();
  for (const line of lines) {
    const level = !Number.isFinite(line.x(line.rows[0]));
    const rows = level ? [line.rows[0], line.rows[0]] : line.rows;
    const family = data.text("family", rows[0]);
    const colour = theme.family(family);
    if (!known.has(line.name)) inFamily.set(family, (inFamily.get(family) ?? -1) + 1);
    known.add(line.name);
    const entry = places.length > 1 ? `${line.name}, ${data.title(line.place.split("\n")[0])}` : line.name;
    const full = rows.map((row) => chosenNow.has(row));
    traces.push({
      type: "scatter", mode: level ? "lines" : "lines+markers", name: label(entry, view.narrow ? 32 : 60, 2),
      legendgroup: entry, showlegend: !named.has(entry),
      x: level ? ends : rows.map(line.x), y: rows.map((row) => valueOf(view, by, row)[0]),
      customdata: rows, hovertext: rows.map((row) => hoverOf(view, row)), hoverinfo: "text",
      line: { color: colour, width: isBase(line) ? 2.5 : 1.5, dash: DASHES[inFamily.get(family) % DASHES.length] },
      marker: {
        size: 9, color: full.map((yes) => (yes ? colour : theme.paper)), line: { color: colour, width: 1.5 },
        symbol: FAMILY_SYMBOLS[family] ?? "circle",
      },
    });
    named.add(entry);
    const base = all.find((other) => isBase(other) && other.place === line.place);
    if (!base || base === line) continue;
    for (const one of crossings(line, base, (row) => by.value[row])) marks.push({ ...one, line });
  }
  if (marks.length) {
    const scale = (mark) => (isRelative(view) && !by.share ? 1 : mark.y);
    traces.push({
      type: "scatter", mode: "markers", name: `crosses ${literal(state.baseline)}`, x: marks.map((m) => m.x), y: marks.map(scale),
      hovertext: marks.map((m) => label(crossed(view, m, along), 60, 8)), hoverinfo: "text",
      marker: { size: 15, symbol: "circle-open", color: theme.text, line: { width: 2 } },
    });
  }
  const layout = baseLayout(view, view.narrow ? 420 : 460);
  layout.dragmode = "zoom";
  const axisType = log ? "log" : "linear";
  layout.xaxis = axis(view, word[0].toUpperCase() + word.slice(1), {
    type: axisType, tickmode: "array", tickvals: spread([...xs].sort((a, b) => a - b), log, view.narrow ? 5 : 12),
    tickformat: ",d",
  });
  const relative = isRelative(view) && !by.share;
  layout.yaxis = relative || by.share
    ? shareAxis(view, titleOf(view, by), log) : unitAxis(view, titleOf(view, by), by.unit, log);
  if (log) Object.assign(layout.yaxis, logScale(view, traces.flatMap((trace) => trace.y), true));
  return {
    sentence: sentence(view, all, marks, along, xs.size, word), plot: { data: traces, layout },
    notes: [
      `The filter of ${along === "samples" ? "S" : along} does not hide points here; those that it leaves are filled.`,
      lines.length < all.length ? `${lines.length} of ${all.length} lines: the picked, ${state.baseline}, then the lowest of those that keep the error budget.` : "",
    ],
  };
}

// as many ticks as there is room for, from what was run
function spread(values, log, room) {
  const place = (v) => (log ? Math.log(v) : v);
  const gap = (place(values.at(-1)) - place(values[0])) / room;
  const kept = [];
  for (const value of values) if (!kept.length || place(value) - place(kept.at(-1)) >= gap * 0.98) kept.push(value);
  return kept;
}

function crossed(view, { x, line, cheaperAfter }, along) {
  const by = measure(view, view.state.measure);
  const where = { context: `${si(x)} tokens`, batch: `batch ${si(x)}`, samples: `S = ${si(x)}` }[along];
  return `${line.name} has ${cheaperAfter ? "less" : "more"} ${by.title.split(",")[0].toLowerCase()} than `
    + `${view.state.baseline} above ${where} (interpolated)`;
}

function sentence(view, all, marks, along, many, word) {
  const { state, data } = view;
  const by = measure(view, state.measure);
  if (marks.length) {
    const texts = marks.slice(0, 2).map((mark) => crossed(view, mark, along));
    const more = marks.length > 2 ? `; ${several(marks.length - 2, "more crossing is", "more crossings are")} marked` : "";
    return `${listed(texts)}${more}.`;
  }
  const line = all.find(({ name }) => name === state.baseline) ?? all[0];
  const [first, last] = [line.rows[0], line.rows.at(-1)];
  const growth = by.share ? percent(by.value[last]) : printed(view, by, last);
  return `No method crosses ${state.baseline || "a baseline"} within the ${many} values of ${word}; `
    + `${data.text("method", first)} ends at ${growth}.`;
}

figure("scaling", {
  controls: [
    { key: "measure", label: "Measure", options: () => MEASURES },
    { key: "along", label: "Along", options: () => ALONG },
  ],
  draw,
});
