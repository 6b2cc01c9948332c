// An excerpt of one run, one line per slot of a track.
import { label, si } from "./format.js";
import { rowLayout, unitAxis } from "./layout.js";
import { entries, POINT_MENU, timedRows } from "./pipeline_runs.js";
import { figure } from "./registry.js";
import { PHASE_COLOURS } from "./theme.js";

const COLOURS = {
  stream: "#332288", score: PHASE_COLOURS.score, softmax: PHASE_COLOURS.softmax, sample: PHASE_COLOURS.sample,
  gather: "#882255", value: PHASE_COLOURS.value, merge: PHASE_COLOURS.merge, store: "#999999",
};

function draw(view) {
  const { data, state, theme } = view;
  const there = timedRows(view).filter((row) => {
    const [from, to] = data.range("event_steps", row);
    return to > from;
  });
  const row = there.find((r) => String(r) === state.event) ?? there[0] ?? -1;
  if (row < 0) return { sentence: "No point in the filter has a timeline." };
  const steps = entries(data, "event_steps", row);
  const slots = {};
  for (const { track, slot } of steps) slots[track] = Math.max(slots[track] ?? 0, slot + 1);
  const lines = Object.keys(COLOURS).filter((track) => slots[track]).flatMap(
    (track) => Array.from({ length: slots[track] }, (_, slot) => ({ track, slot })),
  );
  const name = ({ track, slot }) => (slots[track] > 1 ? `${track} ${slot}` : track);
  const layout = rowLayout(view, lines.map(name));
  layout.barmode = "overlay";
  layout.showlegend = false;
  layout.xaxis = unitAxis(view, "Time since the start of the excerpt", "s", false);
  const place = new Map(lines.map((line, i) => [name(line), i]));
  return {
    sentence: `${steps.length} steps of ${data.text("method", row)} on ${data.title(data.text("accelerator", row))}, `
      + `${steps[0].run}.`,
    plot: {
      layout,
      data: Object.keys(COLOURS).filter((track) => slots[track]).map((track) => {
        const own = steps.filter((step) => step.track === track);
        return {
          type: "bar", orientation: "h", name: track, textposition: "none",
          y: own.map((step) => place.get(name(step))), base: own.map(({ start_s: start }) => start),
          x: own.map((step) => step.end_s - step.start_s),
          marker: { color: theme.on(COLOURS[track]), line: { color: theme.paper, width: 0.5 } },
          hovertext: own.map((step) => `<b>${label(step.label)}</b><br>${si(step.end_s - step.start_s, "s")}`),
          hoverinfo: "text",
        };
      }),
    },
  };
}

figure("timeline", { controls: [POINT_MENU], draw });
