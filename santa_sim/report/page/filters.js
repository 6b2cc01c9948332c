// The filter bar: one list of boxes per facet, and menus for what all figures share.
import { FACETS, NO_SAMPLES } from "./data.js";

const MENUS = [
  { key: "boundary", label: "Boundary", options: ({ data }) => [...new Set(Object.values(data.facts.accounts).flat())].map((a) => [a, a]) },
  { key: "budget", label: "Error budget", options: ({ data }) => budgets(data.facts.start.budget) },
  { key: "values", label: "Values", options: () => [["absolute", "absolute"], ["relative", "share of baseline"]] },
  { key: "baseline", label: "Baseline", options: ({ data }) => data.facets.method.values.map((m) => [m, m]) },
  { key: "scale", label: "Axes", options: () => [["auto", "as suits each figure"], ["linear", "linear"], ["log", "logarithmic"]] },
];
const SEARCHED = 12; // a list longer than this can be searched

function budgets(start) {
  const shares = [...new Set([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, start])].sort((a, b) => a - b);
  return shares.map((share) => [String(share), `${Number((100 * share).toPrecision(6))} %`]);
}

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function menu({ key, label, options }, state, update) {
  const select = make("select", { "data-key": key, onchange: () => update({ [key]: select.value }) });
  for (const [value, text] of options) select.append(make("option", { value, selected: value === state[key] }, text));
  select.value = state[key];
  return make("label", { class: "menu", hidden: options.length < 2 }, make("span", {}, label), select);
}

function valueText(data, { name, unit }, value) {
  if (name === "accelerator") return data.title(value);
  if (name === "samples" && value === NO_SAMPLES) return "no S (dense values)";
  if (name === "context") return `${Number(value).toLocaleString("en-US")} ${unit}`;
  return value;
}

function summaryText(data, facet, state) {
  const { values } = data.facets[facet.name];
  const wanted = state[facet.name];
  if (wanted === null || wanted.length === values.length) return values.length > 1 ? `all ${values.length}` : valueText(data, facet, values[0]);
  if (wanted.length === 1) return valueText(data, facet, wanted[0]);
  return `${wanted.length} of ${values.length}`;
}

function options(data, facet, current, update) {
  const { values } = data.facets[facet.name];
  const boxes = values.map((value) => {
    const box = make("input", { type: "checkbox", value });
    box.checked = current()[facet.name]?.includes(value) ?? true;
    box.addEventListener("change", () => {
      const kept = boxes.filter((b) => b.checked).map((b) => b.value);
      update({ [facet.name]: kept.length === values.length ? null : kept });
    });
    return box;
  });
  const set = (wanted) => {
    for (const box of boxes) box.checked = wanted;
    update({ [facet.name]: wanted ? null : [] });
  };
  const lines = boxes.map((box, i) => make("div", { class: "option" }, make("label", {}, box, make("span", {}, valueText(data, facet, values[i]))),
    make("button", {
      type: "button", class: "only", "aria-label": `only ${valueText(data, facet, values[i])}`,
      onclick: () => {
        for (const other of boxes) other.checked = other === box;
        update({ [facet.name]: [values[i]] });
      },
    }, "only")));
  const tools = make("div", { class: "tools" },
    make("button", { type: "button", onclick: () => set(true) }, "all"),
    make("button", { type: "button", onclick: () => set(false) }, "none"));
  if (values.length > SEARCHED) {
    const search = make("input", {
      type: "search", placeholder: "find", "aria-label": `find in ${facet.label}`,
      oninput: () => {
        const text = search.value.toLowerCase();
        lines.forEach((line, i) => { line.hidden = !valueText(data, facet, values[i]).toLowerCase().includes(text); });
      },
    });
    tools.append(search);
  }
  return [tools, ...lines];
}

export class Filters {
  constructor(place, data, current, update) {
    this.data = data;
    this.current = current;
    this.facets = FACETS.map((facet) => {
      const chosen = make("b");
      const list = make("div", { class: "options", role: "group", "aria-label": facet.label });
      const box = make("details", { class: "facet", "data-facet": facet.name, hidden: data.facets[facet.name].values.length < 2 },
        make("summary", {}, make("span", {}, facet.label), chosen), list);
      box.addEventListener("toggle", () => {
        if (box.open) list.replaceChildren(...options(data, facet, current, update));
      });
      return { facet, chosen, box };
    });
    this.menus = make("div", { class: "menus" });
    place.replaceChildren(...this.facets.map(({ box }) => box), this.menus);
    const closeOthers = (kept) => this.facets.forEach(({ box }) => { if (box !== kept) box.open = false; });
    document.addEventListener("click", (event) => closeOthers(event.target.closest?.(".facet")));
    place.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      const open = event.target.closest(".facet");
      if (open) open.querySelector("summary").focus();
      closeOthers(null);
    });
    this.update = update;
    this.show();
  }

  show() {
    const state = this.current();
    for (const { facet, chosen } of this.facets) chosen.textContent = summaryText(this.data, facet, state);
    const focused = document.activeElement?.dataset?.key;
    this.menus.replaceChildren(...MENUS.map(({ key, label, options: of }) => menu(
      { key, label, options: of({ data: this.data }) }, state, this.update,
    )));
    if (focused) this.menus.querySelector(`[data-key="${focused}"]`)?.focus();
  }
}
