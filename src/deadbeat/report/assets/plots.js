"use strict";
/* What every script of a page shares; it stands before the page's own in the same element. */
const plots = (function () {
  // Plotly reads a little HTML in its texts; what comes from outside must stay text.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return {paper: read("--paper"), ink: read("--ink"), soft: read("--soft"), grid: read("--grid"), accent: read("--accent")};
  }

  function frame(extra) {
    const c = colours();
    return Object.assign({
      paper_bgcolor: c.paper, plot_bgcolor: c.paper, autosize: true, showlegend: false,
      font: {family: getComputedStyle(document.body).fontFamily, color: c.ink, size: 12},
      margin: {l: 60, r: 10, t: 12, b: 52}, hoverlabel: {align: "left"},
    }, extra);
  }

  const config = (name) => ({
    responsive: true, displaylogo: false, displayModeBar: false, plotlyServerURL: "", showLink: false,
    topojsonURL: "", toImageButtonOptions: {filename: `deadbeat-${name}`},
  });

  /* Ticks of a logarithmic axis: even steps over a short range, else 1, 2, 5 or finer. */
  function logTicks(low, high) {
    let found = [];
    if (high / low < 4) {
      const rough = (high - low) / 7, power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough * 0.999);
      for (let i = Math.ceil(low / step); i * step <= high; i += 1) found.push(Number((i * step).toPrecision(6)));
    } else {
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e += 1) (high / low < 30 ? [1, 2, 3, 5, 7] : high / low < 1500 ? [1, 2, 5] : [1]).forEach((f) => found.push(f * 10 ** e));
    }
    const kept = [];
    found.filter((value) => value > 0 && value >= low && value <= high).forEach((value) => {
      if (!kept.length || Math.log(value / kept[kept.length - 1]) > 0.06 * Math.log(high / low)) kept.push(value);
    });
    return {tickmode: "array", tickvals: kept, ticktext: kept.map((value) => String(Number(value.toPrecision(6))))};
  }

  return {plain, colours, frame, config, logTicks};
})();
