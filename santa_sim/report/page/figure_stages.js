// How the engines and stages of a pipeline spend the time of one run.
import { label, literal, percent, si } from "./format.js";
import { rowLayout, unitAxis } from "./layout.js";
import { entries, POINT_MENU, RUN_MENU, shownRow, shownRun } from "./pipeline_runs.js";
import { figure } from "./registry.js";

const STATES = [
  ["busy_s", "busy", "#0072B2"], ["stalled_s", "stalled for input", "#E69F00"],
  ["blocked_s", "blocked on output", "#D55E00"], ["idle_s", "idle", null],
];

function draw(view) {
  const { data, theme } = view;
  const row = shownRow(view);
  if (row < 0) return { sentence: "No point in the filter ran in time." };
  const run = shownRun(view, entries(data, "events", row));
  const tracks = entries(data, "event_tracks", row).filter((track) => track.run === run.run);
  const layout = rowLayout(view, tracks.map(({ track, slots }) => (slots > 1 ? `${track} (${slots} at once)` : track)));
  layout.barmode = "stack";
  layout.xaxis = unitAxis(view, "Time, mean over the slots of a track", "s", false);
  const total = run.event_time_s;
  return {
    sentence: `${run.run}: ${si(total, "s")}, ${run.bottleneck} busy for ${percent(run.bottleneck_share)} of it.`,
    plot: {
      layout,
      data: STATES.map(([state, name, colour]) => ({
        type: "bar", orientation: "h", name: literal(name), x: tracks.map((track) => track[state]),
        y: tracks.map((_, i) => i), textposition: "none",
        marker: { color: colour ? theme.on(colour) : theme.grid, line: { color: theme.paper, width: 0.5 } },
        hovertext: tracks.map((track) => `<b>${label(track.track)}</b><br>${name}: ${si(track[state], "s")}, `
          + `${percent(track[state] / total)}`), hoverinfo: "text",
      })),
    },
  };
}

figure("stages", { controls: [POINT_MENU, RUN_MENU], draw });
