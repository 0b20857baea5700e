"use strict";
(function () {
  const {plain, colours, frame, config} = plots;
  const data = JSON.parse(document.getElementById("deadbeat-data").textContent);
  const byId = (id) => document.getElementById(id);
  // Black is lost on dark paper: it takes the ink's colour.
  const visible = (colour) => colour === "#000000" ? colours().ink : colour;

  function lineTraces(panel) {
    return panel.lines.flatMap((line) => {
      const colour = visible(line.colour), unit = panel.percent ? " %" : "";
      if (panel.steps) return [{
        x: line.x, y: line.y, name: plain(line.label), mode: "lines",
        line: {color: colour, width: 2, shape: "hv"}, hovertemplate: "%{y:.2f} %<extra></extra>",
      }];
      const band = {
        x: line.x.concat(line.x.slice().reverse()), y: line.high.concat(line.low.slice().reverse()),
        fill: "toself", fillcolor: colour + "26", line: {width: 0}, mode: "lines", hoverinfo: "skip",
        showlegend: false, legendgroup: plain(line.label),
      };
      const text = line.x.map((x, k) => `<b>${plain(line.label)}</b><br>${+line.y[k].toPrecision(4)}${unit}` +
        ` [${+line.low[k].toPrecision(4)}, ${+line.high[k].toPrecision(4)}]<br>at ${x}, ${line.sets[k]} sets`);
      return [band, {
        x: line.x, y: line.y, name: plain(line.label), legendgroup: plain(line.label),
        mode: "lines+markers", line: {color: colour, width: 2}, marker: {color: colour, symbol: line.symbol, size: 7},
        text, hovertemplate: "%{text}<extra></extra>",
      }];
    });
  }

  function heatTraces(panel) {
    const heat = panel.heat;
    return [{
      type: "heatmap", x: heat.x, y: heat.y, z: heat.z, zmin: 0, zmax: heat.top, colorscale: "Viridis",
      xgap: 1, ygap: 1, text: heat.texts, texttemplate: "%{text}", colorbar: {thickness: 12, title: {text: "sets", side: "right"}},
      hovertemplate: "U/m %{x}, n %{y}<br>%{text} not schedulable<extra></extra>",
    }];
  }

  function layout(panel) {
    const c = colours();
    const axis = (text) => ({title: {text: plain(text), font: {size: 11}}, gridcolor: c.grid, zeroline: false, automargin: true});
    const made = frame({
      margin: {l: 56, r: 10, t: 8, b: 48}, xaxis: axis(panel.x), yaxis: axis(panel.y), showlegend: !panel.heat,
      legend: {orientation: "h", y: -0.22, yanchor: "top"},
    });
    if (panel.heat) {
      made.xaxis.type = "category";
      made.yaxis.type = "category";
    } else if (panel.limits) {
      made.yaxis.range = panel.limits;
    } else {
      made.yaxis.rangemode = "tozero";
    }
    return made;
  }

  async function draw() {
    for (const chart of data.charts) {
      for (const [k, panel] of chart.panels.entries()) {
        const id = `${chart.name}-${k}`;
        try {
          await Plotly.react(byId(id), panel.heat ? heatTraces(panel) : lineTraces(panel), layout(panel), config(id));
          byId(id).dataset.drawn = id;
        } catch (error) {
          byId(id).textContent = `This figure cannot be drawn here: ${error.message || error}`;
          byId(id).dataset.drawn = "refused";
        }
      }
    }
  }

  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
