// Which bytes move: streams by memory level; logical, unique and moved side by side.
import { bars } from "./bars.js";
import { percent, si } from "./format.js";
import { baseline } from "./measures.js";
import { figure } from "./registry.js";
import { shownRows } from "./rows.js";
import { OTHERS } from "./theme.js";

const NAMES = { k: "K", v: "V", q: "Q + output", out: "Q + output" };
const LEVELS = { main: "main memory", scratch: "scratch" };
const COUNTED = [
  ["moved_bytes", "moved (whole sectors)"], ["unique_bytes", "unique (each row once per KV head)"],
  ["logical_bytes", "logical (each row as often as drawn)"],
];
const COLOURS = {
  "K, main memory": OTHERS[0], "V, main memory": OTHERS[1], "Q + output, main memory": OTHERS[2],
};

function totalsOf(data, row, column) {
  const [from, to] = data.range("streams", row);
  const values = data.tables.streams.columns[column];
  let total = 0;
  for (let i = from; i < to; i += 1) total += values[i];
  return total;
}

function draw(view) {
  const { data, state } = view;
  const { shown: rows, note } = shownRows(view);
  const { tensor, level, ...columns } = data.tables.streams.columns;
  const name = (i) => {
    const stream = NAMES[tensor.words[tensor.codes[i]]] ?? "workspace";
    const where = level.words[level.codes[i]];
    return `${stream}, ${LEVELS[where] ?? where}`;
  };
  const sums = rows.map((row) => data.sums("streams", row, name, columns[state.bytes]));
  const names = [...new Set([...Object.keys(COLOURS), ...sums.flatMap((s) => [...s.keys()]).sort()])];
  const stacks = names.map((stream, i) => ({
    name: stream, colour: COLOURS[stream] ?? OTHERS[3 + (i % 8)],
    values: sums.map((s) => s.get(stream) ?? 0),
  }));
  const symbols = { moved_bytes: "square", unique_bytes: "circle", logical_bytes: "diamond" };
  const marks = COUNTED.filter(([column]) => column !== state.bytes).map(([column, text]) => ({
    name: text, symbol: symbols[column], values: rows.map((row) => totalsOf(data, row, column)),
  }));
  const counted = COUNTED.find(([column]) => column === state.bytes)[1];
  return {
    sentence: sentence(view, rows), notes: [note],
    plot: rows.length ? bars(view, {
      rows, stacks, marks, unit: "B", title: `Bytes, ${counted},`.replace(/,$/, ""),
      totals: { of: (row) => totalsOf(data, row, state.bytes) }, without: () => "0",
    }) : null,
  };
}

function sentence(view, rows) {
  const { moved_bytes: moved, k_bytes: k, v_bytes: v } = view.data.points;
  const least = rows.reduce((best, row) => (best < 0 || moved[row] < moved[best] ? row : best), -1);
  if (least < 0) return "";
  const base = baseline(view, least);
  const than = base >= 0 && base !== least
    ? `, ${percent(moved[least] / moved[base])} of what ${view.state.baseline} moves` : "";
  return `The fewest bytes move with ${view.data.text("method", least)}: ${si(moved[least], "B")} of main `
    + `memory per decode step and layer${than}; K is ${percent(k[least] / moved[least])} of it and V `
    + `${percent(v[least] / moved[least])}.`;
}

figure("bytes", { controls: [{ key: "bytes", label: "Bytes", options: () => COUNTED }], draw });
