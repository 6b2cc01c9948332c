// The figures of the page by name. A file `figure_*.js` adds one:
//
//   figure("name", { controls, draw })
//
// `draw(view)` is a pure function. view: {data, state, rows, theme, narrow, pareto()}; `rows` are the
// indices of points that the filters leave. It returns any of
//   sentence: text above the figure; notes: texts below it;
//   plot: {data, layout} for Plotly, values in SI units, `customdata` of a point its row;
//   tables: [{caption, header, rows, numeric}]; a cell is a text, or {text, set} which is a button
//     that changes the state, or {text, row, checked} which is a box that picks a point.
// `controls`: [{key, label, options: (view) => [[value, text], ...]}], menus for one key of the state.
export const FIGURES = new Map();

export function figure(name, { controls = [], draw }) {
  FIGURES.set(name, { controls, draw });
}
