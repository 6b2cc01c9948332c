// How busy a pipeline keeps its memory, by layout and sizes, and what holds each run up.
import { label, percent, plain, si } from "./format.js";
import { axis, baseLayout } from "./layout.js";
import { entries, POINT_MENU, shownRow } from "./pipeline_runs.js";
import { figure } from "./registry.js";
import { rowLabels } from "./rows.js";

const ROW_PX = 76;

function draw(view) {
  const { data, theme } = view;
  const row = shownRow(view);
  if (row < 0) return { sentence: "No point in the filter ran in time." };
  const runs = entries(data, "events", row);
  const columns = [...new Set(runs.map(({ sizes }) => sizes))];
  const layouts = [...new Set(runs.map(({ kv_layout: layout }) => layout))];
  const at = new Map(runs.map((run) => [`${run.kv_layout}\n${run.sizes}`, run]));
  const grid = layouts.map((layout) => columns.map((size) => at.get(`${layout}\n${size}`)));
  const cell = (run) => (run ? `${plain(100 * run.memory_share, 2)} %<br>${label(run.bottleneck)} `
    + `${plain(100 * run.bottleneck_share, 2)} %` : "");
  const layout = baseLayout(view, 120 + ROW_PX * layouts.length);
  layout.xaxis = axis(view, "", {
    tickmode: "array", tickvals: columns.map((_, i) => i), tickangle: view.narrow ? -90 : 0, showgrid: false,
    ticktext: columns.map((text) => (view.narrow ? label(text, 48, 1) : label(text, 15, 4))), tickfont: { size: 11 },
    zeroline: false,
  });
  layout.yaxis = axis(view, "", {
    tickmode: "array", tickvals: layouts.map((_, i) => i), ticktext: layouts, autorange: "reversed",
    showgrid: false, zeroline: false,
  });
  const empty = theme.dark ? "#26303a" : "#f7fbff";
  return {
    sentence: sentence(view, row, runs),
    plot: {
      layout,
      data: [{
        type: "heatmap", x: columns.map((_, i) => i), y: layouts.map((_, i) => i), xgap: 2, ygap: 2,
        z: grid.map((line) => line.map((run) => run?.memory_share ?? null)), zmin: 0, zmax: 1,
        colorscale: [[0, empty], [0.9, theme.dark ? "#2f6f9f" : "#9ecae1"], [1, theme.dark ? "#3d9fdc" : "#6baed6"]],
        showscale: false, text: grid.map((line) => line.map(cell)),
        texttemplate: view.narrow ? "" : "%{text}", textfont: { size: 11, color: theme.text },
        hovertext: grid.map((line) => line.map((run) => (run ? `<b>${label(run.run, 60, 4)}</b><br>${cell(run)}<br>`
          + `${si(run.event_time_s, "s")}, buffers ${si(run.buffer_bytes, "B")}` : ""))),
        hoverinfo: "text",
      }],
    },
  };
}

function sentence(view, row, runs) {
  const best = runs.reduce((a, b) => (b.event_time_s < a.event_time_s ? b : a));
  const worst = runs.reduce((a, b) => (b.event_time_s > a.event_time_s ? b : a));
  const [name] = rowLabels(view.data, [row]);
  const machine = view.data.title(view.data.text("accelerator", row));
  return `${name} on ${machine} takes ${si(best.event_time_s, "s")} at best (${best.run}; ${best.bottleneck} busy for `
    + `${percent(best.bottleneck_share)} of the time) and ${si(worst.event_time_s, "s")} at worst (${worst.run}).`;
}

figure("pipeline", { controls: [POINT_MENU], draw });
