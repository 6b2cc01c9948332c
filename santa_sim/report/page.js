"use strict";
(() => {
  const config = {
    displaylogo: false, responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const plots = [];
  for (const figure of document.querySelectorAll(".figure")) {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const plot = figure.querySelector(".plot");
    const note = figure.querySelector(".note");
    const menus = [...figure.querySelectorAll("select")];
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
      Plotly.react(plot, structuredClone(panel.data), layout, config);
    };
    for (const menu of menus) menu.addEventListener("change", show);
    plots.push(plot);
    show();
  }
  const drawn = () => plots.filter((plot) => !plot.hidden);
  window.addEventListener("beforeprint", () => {
    for (const plot of drawn()) Plotly.relayout(plot, { autosize: false, width: 680 });
  });
  window.addEventListener("afterprint", () => {
    for (const plot of drawn()) Plotly.relayout(plot, { autosize: true, width: null });
  });
})();
