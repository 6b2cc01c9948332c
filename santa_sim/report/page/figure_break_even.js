// Removing multipliers against removing bytes, over the read energy of memory.
import { label, literal, plain, span } from "./format.js";
import { axis, baseLayout, unitAxis } from "./layout.js";
import { figure } from "./registry.js";

const BITS = 8;
const PICO = 1e-12;
const LABEL_PX = 18; // prices closer than this share a label
const LEVELS = [
  ["multiplies", "most that removing multipliers can save", "#D55E00"],
  ["net", "what is left after paying for the replacement", "#882255"],
];

// the first comparison of the study that the filter leaves, {text(column), number(column)}
function comparison(view) {
  const { data, rows } = view;
  const { rows: count, columns } = data.tables.break_even;
  const wanted = new Set(rows.map((row) => `${data.points.case[row]}\n${data.text("accelerator", row)}`));
  for (let i = 0; i < count; i += 1) {
    const machine = columns.accelerator.words[columns.accelerator.codes[i]];
    if (!wanted.has(`${columns.case[i]}\n${machine}`)) continue;
    return {
      machine, text: (c) => columns[c].words[columns[c].codes[i]], number: (c) => columns[c][i],
      range: (stem) => ["low", "nominal", "high"].map((end) => columns[`${stem}_${end}_j`][i]),
    };
  }
  return null;
}

function pricesOf(data, account) {
  const { rows, columns } = data.tables.bit_prices;
  const found = [];
  for (let i = 0; i < rows; i += 1) {
    if (columns.account.words[columns.account.codes[i]] === account && columns.nominal[i] > 0) {
      found.push({ name: columns.name.words[columns.name.codes[i]], price: columns.nominal[i] });
    }
  }
  return found.sort((a, b) => a.price - b.price);
}

function draw(view) {
  const { data, theme } = view;
  const found = comparison(view);
  if (!found) {
    return { sentence: "No accelerator in the filter has a multiplier whose energy is known, with dense attention and a sampled method on it." };
  }
  const saved = found.number("bytes_saved");
  const prices = pricesOf(data, found.text("account"));
  const levels = LEVELS.map(([stem, name, colour]) => ({ name, colour, range: found.range(stem) }))
    .filter(({ range }) => Number.isFinite(range[1]) && range[1] > 0);
  const crossing = (range) => range.map((joules) => joules / (saved * BITS * PICO));
  const crossed = saved > 0 ? levels.map(({ range }) => crossing(range)) : [];
  const about = `${found.text("case_label")}, on ${data.title(found.machine)}, ${found.text("account")} account`;
  const sentence = saved <= 0
    ? `${found.text("sampled")} moves no fewer bytes than dense, so multipliers matter more at every price of a bit.`
    : crossed.length
      ? `Bytes matter more than multipliers above ${plain(crossed[0][1])} [${plain(crossed[0][0])}, ${plain(crossed[0][2])}] pJ/bit (${about}).`
      : `Multiplies cost nothing here, so bytes matter more at every price of a bit (${about}).`;
  if (saved <= 0) return { sentence };
  const near = [...prices.map(({ price }) => price), ...crossed.flat().filter((v) => v > 0)];
  const [left, right] = [Math.min(...near, 1) / 2, Math.max(...near, 10) * 2];
  const joules = (price) => saved * BITS * PICO * price;
  const traces = [{
    type: "scatter", mode: "lines", name: label(`bytes that ${found.text("sampled")} saves`, view.narrow ? 32 : 60, 2), x: [left, right],
    y: [joules(left), joules(right)], line: { color: theme.on("#0072B2"), width: 2.5 }, hoverinfo: "skip",
  }];
  for (const { name, colour, range } of levels) {
    const low = Math.max(range[0], range[1] / 1000);
    const band = { type: "scatter", mode: "lines", x: [left, right], line: { width: 0 }, hoverinfo: "skip", showlegend: false };
    const [red, green, blue] = [1, 3, 5].map((i) => parseInt(theme.on(colour).slice(i, i + 2), 16));
    traces.push({ ...band, y: [low, low] }, {
      ...band, y: [range[2], range[2]], fill: "tonexty", fillcolor: `rgba(${red},${green},${blue},0.18)`,
    }, {
      type: "scatter", mode: "lines", name: literal(name), x: [left, right], y: [range[1], range[1]],
      line: { color: theme.on(colour), width: 2.5 }, hoverinfo: "text",
      hovertext: `${literal(name)}: ${span(range[1], range[0], range[2], "J")}`,
    });
  }
  for (const at of crossed) {
    traces.push({
      type: "scatter", mode: "markers", name: "break-even", showlegend: false, x: [at[1]], y: [joules(at[1])],
      marker: { size: 12, symbol: "circle-open", color: theme.text, line: { width: 2 } }, hoverinfo: "text",
      hovertext: `break-even at ${plain(at[1])} [${plain(at[0])}, ${plain(at[2])}] pJ/bit`,
      error_x: {
        type: "data", symmetric: false, color: theme.text, thickness: 1.2, array: [at[2] - at[1]],
        arrayminus: [at[1] - Math.max(at[0], at[1] / 100)],
      },
    });
  }
  const layout = baseLayout(view, view.narrow ? 480 : 460);
  layout.xaxis = axis(view, "Read energy of memory (pJ/bit)", {
    type: "log", tickformat: "~g", range: [Math.log10(left), Math.log10(right)], dtick: 1,
  });
  const highest = Math.max(joules(right), ...levels.map(({ range }) => range[2]));
  const lowest = Math.min(joules(left), ...levels.map(({ range }) => Math.max(range[0], range[1] / 1000)));
  const bounds = [Math.log10(lowest / 1.5), Math.log10(highest * 1.3)];
  layout.yaxis = unitAxis(view, "Energy saved per decode step and layer", "J", true, {
    // the names of the memories stand above the lines
    range: [bounds[0], bounds[0] + (bounds[1] - bounds[0]) / 0.62], dtick: 1,
  });
  const close = (right / left) ** (LABEL_PX / (view.narrow ? 230 : 640));
  const groups = [];
  for (const one of prices) {
    if (groups.length && one.price < close * groups.at(-1)[0].price) groups.at(-1).push(one);
    else groups.push([one]);
  }
  layout.shapes = prices.map(({ price }) => ({
    type: "line", yref: "paper", x0: price, x1: price, y0: 0, y1: 1, layer: "below",
    line: { color: theme.line, dash: "dot", width: 1 },
  }));
  layout.annotations = groups.map((group) => ({
    x: Math.log10(group[0].price), xanchor: "left", yref: "paper", y: 1, yanchor: "top", textangle: -90, showarrow: false,
    text: label(group.map(({ name, price }) => `${name} ${plain(price)}`).join(", "), 24, 1),
    font: { size: 12, color: theme.soft },
  }));
  return { sentence, plot: { data: traces, layout }, notes: [about] };
}

figure("break_even", { draw });
