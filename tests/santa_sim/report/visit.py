"""A report in a real browser, with everything that it asks for or complains about."""

from urllib.parse import quote

DRAWN = """(name) => {
  const plot = document.querySelector(`[data-figure="${name}"] .plot`);
  return plot.hidden ? [] : plot.data.map((t) => ({
    name: t.name ?? "", type: t.type, mode: t.mode ?? "", x: Array.from(t.x), y: Array.from(t.y),
    rows: Array.from(t.customdata ?? []), hover: [t.hovertext ?? []].flat(),
    skip: t.hoverinfo === "skip", fill: [t.marker?.color ?? []].flat(),
    ends: t.error_x ? [Array.from(t.error_x.arrayminus), Array.from(t.error_x.array)] : null,
  }));
}"""
TEXTS = """(selector) => [...document.querySelectorAll(selector)].map((e) => {
  const {left, top, right, bottom} = e.getBoundingClientRect();
  return {text: e.textContent, x0: left, y0: top + scrollY, x1: right, y1: bottom + scrollY};
})"""


class Visit:
    """A page without a network; `complaints` and `requests` are what it did that it should not."""

    def __init__(self, browser, path, width=1280, scheme="light", hash_=""):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True,
            accept_downloads=True,
        )
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda m: self.complaints.append(m.text))
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("dialog", lambda d: (self.complaints.append(d.message), d.dismiss()))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.goto(path.as_uri() + hash_)
        self.page.wait_for_function("window.report")
        self.settle()

    def close(self):
        self.context.close()

    def settle(self):
        """Wait until every figure shows the current state."""
        self.page.evaluate("""async () => {
          let last;
          while (last !== report.drawn) { last = report.drawn; await last; }
        }""")

    def set(self, **patch):
        """Change the state as a control does."""
        self.page.evaluate("(patch) => report.update(patch)", patch)
        self.settle()

    def show(self, figure, **patch):
        """Change the state for one figure alone, which is fast."""
        self.page.evaluate("""async ([name, patch]) => {
          Object.assign(report.state, patch);
          await report.panels.find((p) => p.place.dataset.figure === name).show(report.view());
        }""", [figure, patch])

    def reset(self):
        self.page.evaluate("report.update(structuredClone(report.start))")
        self.settle()

    def only(self, facet, value):
        """Choose one value of a facet, by mouse."""
        box = self.page.locator(f'[data-facet="{facet}"]')
        box.locator("summary").click()
        option = box.locator(".option", has=self.page.locator(f'input[value="{value}"]'))
        option.locator(".only").click()
        box.locator("summary").click()
        self.settle()

    def all(self, facet):
        box = self.page.locator(f'[data-facet="{facet}"]')
        box.locator("summary").click()
        box.get_by_role("button", name="all", exact=True).click()
        box.locator("summary").click()
        self.settle()

    def menu(self, key, value):
        self.page.locator(f'select[data-key="{key}"]').select_option(value=value)
        self.settle()

    def drawn(self, figure):
        """Return the traces of a figure as Plotly holds them."""
        return self.page.evaluate(DRAWN, figure)

    def cells(self, figure):
        """Return the texts of the first table of a figure."""
        return self.page.evaluate("""(name) => [...document.querySelectorAll(
            `[data-figure="${name}"] tbody tr`)].map((r) => [...r.cells].map((c) => c.textContent))
        """, figure)

    def rows(self):
        return self.page.evaluate("report.view().rows")

    def sentence(self, figure):
        return self.page.locator(f'[data-figure="{figure}"] .sentence').inner_text()

    def notes(self, figure):
        return self.page.locator(f'[data-figure="{figure}"] .notes').inner_text()

    def texts(self, selector):
        return self.page.evaluate(TEXTS, selector)


def view_hash(**state):
    return "#pareto?" + "&".join(f"{key}={quote(value)}" for key, value in state.items())
