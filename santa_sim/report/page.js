"use strict";
(() => {
  const config = {
    displaylogo: false, responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  // a legend of many lines would squeeze the plot, so the figure grows by what it takes
  const fit = (plot) => {
    const legend = plot.querySelector(".legend .bg");
    const height = Math.round(plot.baseHeight + (legend ? legend.getBBox().height : 0));
    if (height !== plot.layout.height) Plotly.relayout(plot, { height });
  };
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(plain).text());
  };
  const plots = [];
  const start = async (figure) => {
    const plot = figure.querySelector(".plot");
    const note = figure.querySelector(".note");
    const menus = [...figure.querySelectorAll("select")];
    if (typeof DecompressionStream === "undefined") {
      note.textContent = "This browser is too old to draw the figure.";
      return;
    }
    const spec = await unpack(figure.querySelector("script").textContent);
    const show = () => {
      const panel = spec.panels[menus.map((menu) => menu.selectedIndex).join()];
      note.textContent = panel.note;
      if (panel.data.length === 0) {
        Plotly.purge(plot);
        plot.hidden = true;
        return;
      }
      plot.hidden = false;
      // Plotly writes into what it is given, so it gets copies
      const layout = structuredClone(panel.layout);
      if (typeof layout.yaxis === "number") layout.yaxis = structuredClone(spec.yaxes[layout.yaxis]);
      plot.baseHeight = layout.height;
      Plotly.react(plot, structuredClone(panel.data), layout, config).then(() => fit(plot));
    };
    for (const menu of menus) menu.addEventListener("change", show);
    plots.push(plot);
    show();
  };
  document.querySelectorAll(".figure").forEach(start);
  window.addEventListener("resize", () => setTimeout(() => drawn().forEach(fit), 300));
  const drawn = () => plots.filter((plot) => !plot.hidden);
  window.addEventListener("beforeprint", () => {
    for (const plot of drawn()) Plotly.relayout(plot, { autosize: false, width: 680 });
  });
  window.addEventListener("afterprint", () => {
    for (const plot of drawn()) Plotly.relayout(plot, { autosize: true, width: null });
  });
})();
