// Starts the page: one state, one filter bar, and figures that are redrawn when it changes.
import { download, toCsv } from "./csv.js";
import { Data, FACETS } from "./data.js";
import { Filters, make } from "./filters.js";
import { several } from "./format.js";
import { Panel } from "./panel.js";
import { FIGURES } from "./registry.js";
import { aboutRows, paretoOf } from "./rows.js";
import { chosen, fromHash, startState, toHash } from "./state.js";
import { themed } from "./theme.js";
import { unpack } from "./unpack.js";

const NARROW_PX = 640;
const PAPER_PX = 680;
const MOST_PICKED = 200;
const WATCH_MS = 3000;
// what a page that holds a part of the points must ask for anew
const ASKED = [...FACETS.map(({ name }) => name), "cost", "boundary", "budget", "baseline", "along", "picked"];

class App {
  constructor(data) {
    this.data = data;
    this.start = startState(data.facts);
    this.update = this.update.bind(this);
    this.dark = null; // as the system says
    this.paper = false;
    this.panels = [...document.querySelectorAll("[data-figure]")].map(
      (place) => new Panel(place, FIGURES.get(place.dataset.figure), this),
    );
    this.state = this.read();
    this.filters = new Filters(document.querySelector("#filters"), data, () => this.state, this.update);
    if (innerWidth < NARROW_PX) document.querySelector("#bar").open = false; // it would fill the screen
    this.wire();
    this.drawn = this.redraw();
  }

  read() {
    const query = location.hash.split("?").slice(1).join("?");
    return fromHash(query, this.start, this.data);
  }

  address() {
    const query = toHash(this.state, this.start, this.data);
    const section = location.hash.slice(1).split("?")[0];
    return `#${section}${query ? `?${query}` : ""}`;
  }

  update(patch) {
    this.state = { ...this.state, page: "0", ...patch };
    history.replaceState(null, "", this.address());
    this.filters.show();
    const live = this.data.facts.live && Object.keys(patch).some((key) => ASKED.includes(key));
    this.drawn = live ? this.ask() : this.redraw();
  }

  // other rows for the state, from the program that serves this page
  async ask() {
    const { state, data } = this;
    const wanted = Object.fromEntries(FACETS.map(({ name }) => [name, state[name]]));
    const view = {
      wanted, cost: state.cost, boundary: state.boundary, budget: Number(state.budget), baseline: state.baseline,
      along: state.along, picked: state.picked.map((row) => data.idOf(row)),
    };
    const question = this.question = {};
    const start = performance.now();
    const answer = await fetch(`rows?view=${encodeURIComponent(JSON.stringify(view))}`);
    const text = await answer.text();
    if (question !== this.question) return this.drawn;
    document.querySelector("#problem").textContent = answer.ok ? "" : text;
    if (!answer.ok) return null;
    this.data = new Data(await unpack(text));
    this.filters.data = this.data;
    this.answered = performance.now() - start;
    this.state.picked = view.picked.map((id) => this.data.rowOf(id)).filter((row) => row >= 0);
    return this.redraw();
  }

  // runs that are written again are read again
  async watch() {
    for (let known = this.data.facts.version; ;) {
      await new Promise((done) => { setTimeout(done, WATCH_MS); });
      const answer = await fetch("version").catch(() => null);
      if (!answer?.ok) continue;
      const version = await answer.text();
      if (version === known) continue;
      known = version;
      this.drawn = this.ask();
    }
  }

  pick(rows, toggle) {
    const old = new Set(toggle ? this.state.picked : []);
    for (const row of rows) if (!old.delete(row)) old.add(row);
    this.update({ picked: [...old].slice(0, MOST_PICKED), page: this.state.page });
  }

  view() {
    const { data, state } = this;
    let pareto = null;
    const system = matchMedia("(prefers-color-scheme: dark)").matches;
    const view = {
      data, state, rows: chosen(data, state), theme: themed(!this.paper && (this.dark ?? system)),
      narrow: !this.paper && document.querySelector("main").clientWidth < NARROW_PX,
      total: data.facts.total ?? 0,
      pareto: () => (pareto ??= paretoOf(view)),
    };
    if (!data.facts.live) view.total = view.rows.length;
    return view;
  }

  // what is in sight first, the rest when there is time; resolves when all is drawn
  async redraw() {
    const turn = this.turn = {};
    const view = this.view();
    document.documentElement.dataset.theme = view.theme.dark ? "dark" : "light";
    this.status(view);
    for (const fold of document.querySelectorAll("[data-accelerator]")) {
      fold.hidden = !(this.state.accelerator?.includes(fold.dataset.accelerator) ?? true);
    }
    for (const panel of this.panels) panel.stale = true;
    const inSight = ({ place }) => {
      const { top, bottom } = place.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    };
    await Promise.all(this.panels.filter(inSight).map((panel) => panel.show(view)));
    this.inSight = performance.now();
    this.firstSight ??= this.inSight;
    for (const panel of this.panels) {
      if (!panel.stale) continue;
      await new Promise((done) => { requestIdleCallback(done, { timeout: 200 }); });
      if (turn !== this.turn) return this.drawn;
      await panel.show(view);
    }
    return view;
  }

  status(view) {
    const count = document.querySelector("#count");
    const picked = this.state.picked.length;
    const { facts } = this.data;
    const drawn = view.total > view.rows.length ? `, ${several(view.rows.length, "is", "are")} drawn` : "";
    count.textContent = `${several(view.total, "point", "points")} of ${(facts.all ?? this.data.rows).toLocaleString("en-US")}${drawn}`
      + `${view.rows.length ? `: ${aboutRows(view)}` : ""}${picked ? `; ${picked} picked` : ""}`;
    document.querySelector("#unpick").hidden = !picked;
  }

  wire() {
    const on = (id, action) => document.querySelector(id).addEventListener("click", action);
    on("#reset", () => this.update({ ...structuredClone(this.start) }));
    on("#unpick", () => this.update({ picked: [] }));
    on("#theme", () => {
      this.dark = document.documentElement.dataset.theme !== "dark";
      this.drawn = this.redraw();
    });
    on("#csv", () => download(toCsv(this.data, this.view().rows), `${this.data.facts.study}.csv`));
    on("#link", async () => {
      const place = document.querySelector("#linked");
      try {
        await navigator.clipboard.writeText(location.href);
        place.replaceChildren("Link copied");
      } catch {
        const field = make("input", { type: "text", readonly: "", value: location.href, "aria-label": "link to this view" });
        place.replaceChildren(field);
        field.select();
      }
    });
    for (const link of document.querySelectorAll("nav a")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        const target = document.querySelector(link.hash);
        history.replaceState(null, "", link.hash + this.address().replace(/^#[^?]*/, ""));
        target.scrollIntoView();
        target.querySelector("h2").focus({ preventScroll: true });
      });
    }
    addEventListener("hashchange", () => {
      this.state = this.read();
      this.filters.show();
      this.drawn = this.redraw();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.drawn = this.redraw(); });
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      this.drawn = this.redraw();
    });
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  print(paper) {
    this.paper = paper;
    const view = this.view();
    document.documentElement.dataset.theme = view.theme.dark ? "dark" : "light";
    for (const panel of this.panels) {
      panel.show(view);
      if (panel.spec) Plotly.relayout(panel.plot, paper ? { autosize: false, width: PAPER_PX } : { autosize: true, width: null });
    }
  }
}

async function begin() {
  const problem = document.querySelector("#problem");
  if (typeof DecompressionStream === "undefined") {
    problem.textContent = "This browser is too old to draw the figures; the sentences and tables stand without them.";
    return;
  }
  const data = new Data(await unpack(document.querySelector("#data").textContent));
  // where tests and scripts find the state and learn when all is drawn
  window.report = new App(data);
  if (data.facts.live) window.report.watch();
  document.body.classList.add("live");
}

begin();
