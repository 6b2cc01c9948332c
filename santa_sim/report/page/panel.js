// Shows what a figure returned: its sentence, its menus, the plot, tables and notes.
import { make, menu } from "./filters.js";

const CONFIG = {
  displaylogo: false, responsive: true, doubleClick: "reset",
  modeBarButtonsToRemove: ["lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "pan2d"],
};

const ENTRY_PX = 40; // of a legend where each entry takes two lines
const LOW_PX = 220;

export class Panel {
  constructor(place, { controls, draw }, app) {
    Object.assign(this, { place, controls, draw, app });
    this.legend = 0;
    this.stale = true;
    const part = (name, tag = "div", more = {}) => {
      const element = make(tag, { class: name, ...more });
      place.append(element);
      return element;
    };
    this.sentence = part("sentence", "p");
    this.menus = part("menus");
    this.plot = part("plot", "div", { role: "figure" });
    this.tables = part("tables");
    this.buttons = part("buttons");
    this.notes = part("notes");
  }

  show(view) {
    this.stale = false;
    const found = view.rows.length ? this.draw(view) : { sentence: "No point passes the filters." };
    this.sentence.textContent = found.sentence ?? "";
    const focused = this.menus.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.menus.replaceChildren(...this.controls.map(({ options, ...rest }) => menu(
      { ...rest, options: options(view) }, view.state, this.app.update,
    )));
    if (focused) this.menus.querySelector(`[data-key="${focused}"]`)?.focus();
    this.tables.replaceChildren(...(found.tables ?? []).map((table) => this.table(table)));
    this.buttons.replaceChildren(...(found.buttons ?? []).map(({ text, set, disabled }) => make(
      "button", { type: "button", disabled, onclick: () => this.app.update(set) }, text,
    )));
    this.notes.replaceChildren(...(found.notes ?? []).filter(Boolean).map((text) => make("p", { class: "note" }, text)));
    return this.drawPlot(found.plot, found.sentence);
  }

  async drawPlot(plot, sentence) {
    const element = this.plot;
    this.spec = plot ?? null;
    element.hidden = !plot;
    if (!plot) {
      if (element.data) Plotly.purge(element);
      return;
    }
    element.setAttribute("aria-label", sentence ?? "");
    const fresh = !element.data;
    const bare = plot.layout.height;
    // a low figure needs the room from the start: Plotly fails where a legend leaves none for the plot
    const most = ENTRY_PX * plot.data.filter((trace) => trace.showlegend !== false).length;
    const first = bare < most + LOW_PX ? Math.max(most, this.legend) : this.legend;
    await Plotly.react(element, plot.data, { ...plot.layout, height: bare + first }, CONFIG);
    if (fresh) this.listen();
    // a legend of many lines would squeeze the plot, so the figure grows by what it takes
    let given = first;
    for (let pass = 0; pass < 3; pass += 1) {
      const box = element.querySelector(".legend .bg");
      const legend = box ? Math.round(box.getBBox().height) : 0;
      this.legend = legend;
      if (legend === given) return;
      given = legend;
      await Plotly.relayout(element, { height: bare + legend });
    }
  }

  listen() {
    this.plot.on("plotly_click", ({ points }) => {
      const row = points[0]?.customdata;
      if (Number.isInteger(row)) this.app.pick([row], true);
    });
    this.plot.on("plotly_selected", (event) => {
      const rows = event?.points?.map((p) => p.customdata).filter(Number.isInteger) ?? [];
      if (rows.length) this.app.pick(rows, false);
    });
  }

  table({ caption, header, rows, numeric = [] }) {
    const cellsOf = (cells, tag) => cells.map((content, i) => {
      const cell = make(tag, { ...(tag === "th" ? { scope: "col" } : {}), ...(numeric.includes(i) ? { class: "n" } : {}) });
      cell.append(this.content(content));
      return cell;
    });
    const body = rows.map((cells) => make("tr", {}, ...cellsOf(cells, "td")));
    // a header without text is no header
    const head = header.map((text, i) => (text ? cellsOf([text], "th")[0] : make("td")));
    head.forEach((cell, i) => cell.classList.toggle("n", numeric.includes(i)));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
    const scroll = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption || "table" }, table);
    return caption ? make("div", {}, make("p", { class: "caption" }, caption), scroll) : scroll;
  }

  content(content) {
    if (typeof content === "string") return document.createTextNode(content);
    if (content.set) {
      return make("button", {
        type: "button", class: "link", title: content.hint, onclick: () => this.app.update(content.set),
      }, content.text);
    }
    const box = make("input", {
      type: "checkbox", "data-row": String(content.row), ...(content.hint ? { "aria-label": content.hint } : {}),
      onchange: () => this.app.pick([content.row], true),
    });
    box.checked = content.checked;
    return content.text ? make("label", {}, box, ` ${content.text}`) : box;
  }
}
