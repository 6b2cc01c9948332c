// What all figures share: fonts, margins, axes, and a row of labels for bars.
import { label, lines } from "./format.js";

const TOP = 12;
const BOTTOM = 56;

export function baseLayout(view, height) {
  const { theme } = view;
  return {
    height, autosize: true,
    margin: { l: 10, r: 20, t: TOP, b: BOTTOM },
    font: { size: 13, color: theme.text, family: "system-ui, sans-serif" },
    paper_bgcolor: theme.paper, plot_bgcolor: theme.paper,
    legend: {
      orientation: "h", x: 0, xanchor: "left", xref: "container", y: 1, yanchor: "top",
      yref: "container", traceorder: "normal",
    },
    hoverlabel: {
      align: "left", font: { size: 13, color: theme.text }, bgcolor: theme.paper,
      bordercolor: theme.line, namelength: -1,
    },
    dragmode: false,
  };
}

export function axis(view, title, more = {}) {
  const { theme } = view;
  return {
    title: { text: lines(title, view.narrow ? 28 : 90).join("<br>"), standoff: 8 },
    automargin: true, gridcolor: theme.grid, zerolinecolor: theme.line, linecolor: theme.line,
    ...more,
  };
}

// an axis in an SI unit: ticks such as 100 µJ
export function unitAxis(view, title, unit, log, more = {}) {
  return axis(view, unit ? `${title} (${unit})` : title, {
    type: log ? "log" : "linear", tickformat: "~s", ticksuffix: unit, exponentformat: "SI",
    nticks: view.narrow ? 4 : 8, ...(log ? {} : { rangemode: "tozero" }), ...more,
  });
}

export function shareAxis(view, title, log, more = {}) {
  return unitAxis(view, title, "", log, { tickformat: "~%", exponentformat: "none", ...more });
}

const STEPS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9];

// range and ticks of a logarithmic axis that holds the values. The ticks are so few that their labels
// stay apart: powers of ten; 1, 2, 5; or whatever is round where the range is less than a decade
export function logScale(view, values, vertical = false) {
  const known = values.filter((v) => v > 0);
  if (!known.length) return {};
  const ends = [Math.min(...known), Math.max(...known)].map(Math.log10);
  const margin = Math.max(0.06 * (ends[1] - ends[0]), 0.02);
  const [low, high] = [ends[0] - margin, ends[1] + margin];
  const decades = high - low;
  const room = vertical ? 9 : view.narrow ? 4 : 9;
  const range = [low, high];
  if (decades > room / 2) return { range, dtick: Math.ceil(decades / room) };
  if (decades > (vertical || !view.narrow ? 1 : 1.3)) return { range, dtick: decades > room / 3.5 ? 1 : "D2" };
  const tickvals = [];
  for (let exponent = Math.floor(low); exponent <= high; exponent += 1) {
    for (const step of STEPS) {
      const place = exponent + Math.log10(step);
      const enough = !tickvals.length || place - Math.log10(tickvals.at(-1)) >= decades / room;
      if (place >= low && place <= high && enough) tickvals.push(Number(`${step}e${exponent}`));
    }
  }
  return { range, tickmode: "array", tickvals };
}

// one row per label; above its bar where the page is narrow, left of it elsewhere
export function rowLayout(view, labels) {
  const { narrow, theme } = view;
  const count = Math.max(labels.length, 1);
  const texts = labels.map((text) => label(text, narrow ? 44 : 38, narrow ? 2 : 3));
  const tall = texts.reduce((most, text) => Math.max(most, text.split("<br>").length), 1);
  const row = narrow ? 22 + 17 * tall : Math.max(26, 8 + 15 * tall);
  const layout = baseLayout(view, TOP + BOTTOM + 20 + row * Math.max(count, 2));
  layout.yaxis = {
    range: [count - 0.4, -0.6], showgrid: false, zeroline: false, fixedrange: true,
    automargin: true, tickmode: "array", tickvals: narrow ? [] : labels.map((_, i) => i),
    ticktext: narrow ? [] : texts, tickfont: { size: 12 },
  };
  layout.bargap = narrow ? 0.66 : 0.3;
  layout.annotations = !narrow ? [] : texts.map((text, i) => ({
    x: 0, xref: "paper", xanchor: "left", y: i, yanchor: "bottom", yshift: 0.17 * row, text,
    showarrow: false, align: "left", font: { size: 12, color: theme.text },
  }));
  return layout;
}
