// Colours and symbols: the set of Okabe and Ito with two of Tol's, which stay apart under the common
// colour vision deficiencies. Every colour is joined by a symbol, a label or an order.
export const FAMILY_COLOURS = {
  santa_iid: "#56B4E9", santa_stratified: "#009E73", santa_systematic: "#0072B2",
  s2anta_flash: "#D55E00", s2anta_prop: "#E69F00", s2anta_comb: "#CC79A7", bernoulli_qk: "#882255",
};
export const FAMILY_SYMBOLS = {
  dense: "square", santa_iid: "circle", santa_stratified: "triangle-up", santa_systematic: "diamond",
  s2anta_flash: "star", s2anta_prop: "pentagon", s2anta_comb: "hexagon", bernoulli_qk: "x",
};
export const PART_COLOURS = {
  "main memory read": "#0072B2", "main memory write": "#56B4E9", "row activation": "#332288",
  buffer: "#009E73", staging: "#44AA99", multiply: "#D55E00", add: "#E69F00", exp: "#CC79A7",
  "random bits": "#882255", "other arithmetic": "#DDCC77", static: "#999999",
};
export const PHASE_COLOURS = {
  score: "#0072B2", softmax: "#CC79A7", sample: "#56B4E9", value: "#E69F00", merge: "#009E73",
};
export const OTHERS = [
  "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#44AA99", "#882255", "#DDCC77",
  "#332288", "#999999",
];
const LIGHT = {
  text: "#222222", soft: "#555555", grid: "#dddddd", line: "#999999", paper: "#ffffff",
  grey: "#a8a8a8", shade: "rgba(204,51,17,0.07)",
};
const DARK = {
  text: "#e8e8e8", soft: "#b8b8b8", grid: "#3c3f43", line: "#777777", paper: "#1d1f21",
  grey: "#6a6d70", shade: "rgba(255,120,90,0.10)",
};
// the darkest of the set, which vanish on a dark ground
const LIGHTER = { "#332288": "#8f7fe0", "#882255": "#d0608f", "#0072B2": "#3d9fdc" };

export function themed(dark) {
  const base = dark ? DARK : LIGHT;
  const on = (colour) => (dark && LIGHTER[colour]) || colour || base.line;
  return {
    ...base, dark, on, family: (name) => on(name === "dense" ? base.text : FAMILY_COLOURS[name]),
  };
}
