// Which constants matter most to the energy of one point: each alone at its low and high end.
import { constantOf } from "./constants.js";
import { label, listed, plain, si, span } from "./format.js";
import { logScale, rowLayout, unitAxis } from "./layout.js";
import { measure } from "./measures.js";
import { figure } from "./registry.js";
import { longLabel } from "./rows.js";
import { withinBudget } from "./figure_summary.js";

const MOST = 12;
const TIME = "time";

function pointOf(view, by) {
  const { data, state, rows } = view;
  const known = rows.filter((row) => Number.isFinite(by.value[row]));
  const picked = state.picked.find((row) => known.includes(row));
  if (picked !== undefined) return picked;
  const usable = known.filter((row) => withinBudget(data, row, Number(state.budget)));
  return (usable.length ? usable : known).reduce(
    (best, row) => (best < 0 || by.value[row] < by.value[best] ? row : best), -1,
  );
}

// [{name, low, high, constant}]: joules that the whole takes with one constant at an end. A term is
// proportional to the constant that it names, an operation also to the overhead of its unit, and
// static energy to power and to time.
function swings(view, by, row) {
  const { data, state } = view;
  const { account, constant, part, nominal_j: joules } = data.tables.energy.columns;
  const machine = data.text("accelerator", row);
  const total = by.value[row];
  const inAccount = (i) => account.words[account.codes[i]] === state.boundary;
  const path = (i) => constant.words[constant.codes[i]];
  const behind = data.sums("energy", row, (i) => (inAccount(i) ? path(i) : null), joules);
  for (const [name, value] of [...behind]) {
    const factor = `${name.split(".ops.")[0]}.overhead.factor`;
    if (constantOf(data, machine, factor)) behind.set(factor, (behind.get(factor) ?? 0) + value);
  }
  const found = [...behind].flatMap(([name, value]) => {
    const known = constantOf(data, machine, name);
    if (!known || !(known.value > 0)) return [];
    const at = (end) => total + value * (end / known.value - 1);
    return [{ name, low: at(known.low), high: at(known.high), constant: known }];
  });
  const still = data.sums("energy", row, (i) => (inAccount(i) && part.words[part.codes[i]] === "static" ? "static" : null), joules).get("static");
  const time = measure(view, TIME);
  if (still > 0 && time.value[row] > 0) {
    const at = (end) => total + still * (end / time.value[row] - 1);
    found.push({
      name: `${TIME}, by what holds it up: ${data.text("bound", row)}`, low: at(time.low[row]), high: at(time.high[row]),
      constant: {
        value: time.value[row], low: time.low[row], high: time.high[row], unit: "s", source: "bandwidths and rates of the roofline",
        confidence: "computed",
      },
    });
  }
  return found.filter(({ low, high }) => high > low).sort((a, b) => (b.high - b.low) - (a.high - a.low));
}

// the path without what all of them share; the full one is in the hover
function short(path, account) {
  return path.replace("arithmetic.units.", "").replace(`.energy.${account}`, "");
}

function valueText({ value, low, high, unit }) {
  if (unit === "s") return span(value, low, high, unit);
  return `${plain(value)} [${plain(low)}, ${plain(high)}] ${unit === "1" ? "" : unit}`.trimEnd();
}

function draw(view) {
  const { data, theme, state } = view;
  const by = measure(view, "energy");
  const row = pointOf(view, by);
  if (row < 0) return { sentence: `No point in the filter has an energy in the ${state.boundary} account.` };
  const all = swings(view, by, row);
  if (!all.length) return { sentence: "None of the constants behind this point has a range." };
  const shown = all.slice(0, MOST);
  const total = by.value[row];
  const log = state.scale === "log";
  const layout = rowLayout(view, shown.map(({ name }) => short(name, state.boundary)));
  layout.xaxis = unitAxis(view, `${by.title} per decode step and layer`, "J", log);
  layout.barmode = "overlay";
  if (log) Object.assign(layout.xaxis, logScale(view, shown.flatMap(({ low, high }) => [low, high])));
  else {
    const ends = [Math.min(...shown.map(({ low }) => low)), Math.max(...shown.map(({ high }) => high))];
    const margin = 0.06 * (ends[1] - ends[0]);
    Object.assign(layout.xaxis, { range: [Math.max(0, ends[0] - margin), ends[1] + margin], rangemode: "normal" });
  }
  layout.shapes = [{ type: "line", yref: "paper", y0: 0, y1: 1, x0: total, x1: total, line: { color: theme.text, width: 1.5 } }];
  // lines, not bars: a bar on a logarithmic axis starts at zero
  const side = (name, end, colour) => ({
    type: "scatter", mode: "lines", name, legendgroup: name, line: { color: theme.on(colour), width: 14 },
    x: shown.flatMap((one) => [total, one[end], null]), y: shown.flatMap((_, i) => [i, i, null]), hoverinfo: "text",
    hovertext: shown.flatMap((one) => [hover(one, end, total), hover(one, end, total), ""]),
  });
  const top = shown.slice(0, 2).map(({ name, low, high }) => `${short(name, state.boundary)} (${span(total, low, high, "J")})`);
  return {
    sentence: `The energy of ${data.text("method", row)} depends most on ${listed(top)}.`,
    plot: { data: [side("constant at its low end", "low", "#56B4E9"), side("constant at its high end", "high", "#D55E00")], layout },
    notes: [
      longLabel(data, row).join(", "),
      all.length > MOST ? `${MOST} of ${all.length} constants: those that matter most.` : "",
    ],
  };
}

function hover({ name, constant, ...ends }, end, total) {
  return [
    `<b>${label(name, 60, 8)}</b>`, label(`${valueText(constant)}, ${constant.confidence}`, 60, 8), label(constant.source, 60, 8),
    `energy at its ${end} end: ${si(ends[end], "J")} instead of ${si(total, "J")}`,
  ].join("<br>");
}

figure("tornado", { draw });
