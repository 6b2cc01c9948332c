// The roofline: operations of the busiest unit over bytes moved and over time, with all roofs.
import { constantOf } from "./constants.js";
import { label, literal, percent, plain, several, si } from "./format.js";
import { baseLayout, logScale, unitAxis } from "./layout.js";
import { figure } from "./registry.js";
import { longLabel } from "./rows.js";
import { OTHERS } from "./theme.js";
import { thinned } from "./thin.js";

const MEMORY = "memory";
const MACHINES = 4; // roofs of more accelerators than this hide each other
const SYMBOLS = ["circle", "diamond", "square", "triangle-up"];

// {x: op/B, y: op/s, unit, bound} of a row; null where no unit works or no byte moves
function placeOf(data, row) {
  const { resource, nominal_s: seconds } = data.tables.busy.columns;
  const [from, to] = data.range("busy", row);
  let unit = -1;
  for (let i = from; i < to; i += 1) {
    if (resource.words[resource.codes[i]] !== MEMORY && (unit < 0 || seconds[i] > seconds[unit])) unit = i;
  }
  const time = data.points.time_s[row];
  if (unit < 0 || !(time > 0) || !(data.points.moved_bytes[row] > 0)) return null;
  const name = resource.words[resource.codes[unit]];
  const rate = constantOf(data, data.text("accelerator", row), `arithmetic.units.${name}.rate`);
  if (!rate) return null;
  const operations = seconds[unit] * rate.value;
  return { x: operations / data.points.moved_bytes[row], y: operations / time, unit: name, rate };
}

function draw(view) {
  const { data, rows, state, theme } = view;
  const machines = [...new Set(rows.map((row) => data.text("accelerator", row)))].slice(0, MACHINES);
  const places = new Map();
  for (const row of rows) {
    if (!data.points.fits[row] || !machines.includes(data.text("accelerator", row))) continue;
    const place = placeOf(data, row);
    if (place) places.set(row, place);
  }
  if (!places.size) return { sentence: "No point in the filter runs on its accelerator." };
  const all = [...places.keys()];
  const shown = thinned(all, (row) => Math.log10(places.get(row).x), (row) => Math.log10(places.get(row).y));
  const xs = all.map((row) => places.get(row).x);
  const [left, right] = [Math.min(...xs) / 4, Math.max(...xs) * 4];
  const traces = [];
  const reach = all.map((row) => places.get(row).y);
  machines.forEach((machine, m) => {
    const bandwidth = ["memory.peak_bandwidth", "memory.streaming_efficiency"]
      .reduce((product, path) => product * (constantOf(data, machine, path)?.value ?? NaN), 1);
    const own = all.filter((row) => data.text("accelerator", row) === machine).map((row) => places.get(row));
    const units = new Map(own.map(({ unit, rate }) => [unit, rate.value]));
    const most = Math.max(...units.values());
    const knee = Math.min(Math.max(most / bandwidth, left), right);
    const line = { color: theme.soft, width: 1.6, dash: ["solid", "dash", "dot", "dashdot"][m] };
    const title = data.title(machine);
    if (own.length && Number.isFinite(bandwidth)) {
      traces.push({
        type: "scatter", mode: "lines", name: label(`${title}: memory ${si(bandwidth, "B/s")}`, view.narrow ? 32 : 60, 2), x: [left, knee],
        y: [left * bandwidth, knee * bandwidth], line, hoverinfo: "text",
        hovertext: label(`${title}: memory at ${si(bandwidth, "B/s")}`, 60, 4),
      });
      reach.push(knee * bandwidth);
    }
    for (const [unit, rate] of units) {
      traces.push({
        type: "scatter", mode: "lines", name: label(`${title}: ${unit} ${si(rate, "op/s")}`, view.narrow ? 32 : 60, 2),
        x: [Math.max(left, Math.min(rate / bandwidth, right)), right], y: [rate, rate], line: { ...line, width: 1 }, hoverinfo: "text",
        hovertext: label(`${title}: ${unit} at ${si(rate, "op/s")}`, 60, 4),
      });
      reach.push(rate);
    }
  });
  const bounds = data.points.bound.words.filter(Boolean);
  const order = [MEMORY, ...bounds.filter((word) => word !== MEMORY)];
  for (const bound of order) {
    const own = shown.filter((row) => data.text("bound", row) === bound);
    if (!own.length) continue;
    traces.push({
      type: "scatter", mode: "markers", name: literal(`held up by ${bound}`), x: own.map((row) => places.get(row).x),
      y: own.map((row) => places.get(row).y), customdata: own, hoverinfo: "text", hovertext: own.map((row) => hover(view, row, places.get(row))),
      marker: {
        opacity: 1, size: own.map((row) => (state.picked.includes(row) ? 16 : 10)), color: theme.on(OTHERS[order.indexOf(bound) % OTHERS.length]),
        symbol: own.map((row) => SYMBOLS[machines.indexOf(data.text("accelerator", row))]), line: { color: theme.paper, width: 1 },
      },
    });
  }
  const layout = baseLayout(view, view.narrow ? 440 : 460);
  layout.dragmode = "zoom";
  layout.xaxis = unitAxis(view, "Operations of the busiest unit per byte moved (op/B)", "", true, { ...logScale(view, [left, right]), tickformat: "~g" });
  layout.yaxis = unitAxis(view, "Operations per second", "op/s", true, logScale(view, reach, true));
  const held = all.filter((row) => data.text("bound", row) === MEMORY).length;
  const hidden = new Set(rows.map((row) => data.text("accelerator", row))).size - machines.length;
  return {
    sentence: `${several(held, "point lies", "points lie")} on the roof of memory, ${all.length - held} on that of a unit.`,
    plot: { data: traces, layout },
    notes: [
      hidden > 0 ? `The first ${MACHINES} accelerators of the filter; ${hidden} more are not drawn.` : "",
      shown.length < all.length ? `${all.length - shown.length} points hide behind others and are not drawn.` : "",
    ],
  };
}

function hover(view, row, { x, y, unit, rate }) {
  const { data } = view;
  const [method, ...rest] = longLabel(data, row);
  return [
    `<b>${label(method, 60, 8)}</b>`, label(rest.join(", "), 60, 8), `held up by ${literal(data.text("bound", row))}`,
    `${plain(x)} op/B, ${si(y, "op/s")}, ${percent(y / rate.value)} of ${literal(unit)}`,
  ].join("<br>");
}

figure("roofline", { draw });
