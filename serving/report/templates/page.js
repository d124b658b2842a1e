"use strict";
(() => {
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axes = (layout) => Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key));
  const paint = (layout) => {
    layout.font = {...layout.font, color: ink("--ink")};
    for (const axis of axes(layout)) {
      layout[axis] = {...layout[axis], gridcolor: ink("--line"), zerolinecolor: ink("--line")};
    }
    return layout;
  };
  const drawings = [...document.querySelectorAll("[data-figure]")];
  const config = {
    displaylogo: false, responsive: true, showLink: false, plotlyServerURL: "",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  for (const place of drawings) {
    const figure = JSON.parse(document.getElementById(place.dataset.figure).textContent);
    Plotly.newPlot(place, figure.data, paint(figure.layout), config);
  }
  const cell = (one) => `"${one.textContent.replaceAll('"', '""')}"`;
  const csv = (table) => [...table.rows].map((row) => [...row.cells].map(cell).join(",")).join("\r\n");
  for (const button of document.querySelectorAll("[data-csv]")) {
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv(document.getElementById(button.dataset.csv))], {type: "text/csv"}));
      link.download = `${button.dataset.csv}.csv`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }
  const repaint = () => drawings.forEach((place) => Plotly.react(place, place.data, paint(place.layout), config));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  window.matchMedia("print").addEventListener("change", repaint);
})();
