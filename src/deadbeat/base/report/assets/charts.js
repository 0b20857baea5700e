"use strict";
/* Draws the charts of charts.py into their places, and lets a family show one of its charts. */
const deadbeatCharts = (function () {
  // Plotly reads a little HTML in its texts; what comes from outside must stay text.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return {paper: read("--paper"), ink: read("--ink"), soft: read("--soft"), grid: read("--grid")};
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

  /* Ticks as charts.py chose them, at their places; without any Plotly chooses, and writes whole numbers. */
  const tickedAt = (ticks, place = (value) => value) => ticks.length ? {tickmode: "array", tickvals: ticks.map(([value]) => place(value)), ticktext: ticks.map(([, text]) => text)} : {};
  const heightIn = (heat) => (value) => heat.log && value ? Math.log2(value) : value;

  const element = document.getElementById("deadbeat-charts");
  const charts = element ? JSON.parse(element.textContent).charts : [];
  function read(heat) {
    const each = (name) => heat.cells.map((line) => line.map((cell) => cell[name]));
    const heights = each("value").map((line) => line.map(heightIn(heat)));
    Object.assign(heat, {values: each("value"), heights, floor: heightIn(heat)(heat.low), top: heightIn(heat)(heat.high), states: each("state"), texts: each("text"), notes: each("note"), hover: each("hover"), keys: each("key")});
    if (!heat.keys.flat().some(Boolean)) heat.keys = [];
  }
  charts.flatMap((chart) => chart.panels).map((panel) => panel.heat).filter(Boolean).forEach(read);
  const WEBGL = Boolean(document.createElement("canvas").getContext("webgl"));
  const BIG = 450; // Height of a surface, and of the heat map beside it.
  let chosen = ""; // Key of the cell that is marked.
  const byId = (id) => document.getElementById(id);
  const HUES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
  const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"];
  const DASHES = ["solid", "dash", "dashdot", "dot", "longdashdot", "longdash", "2px,2px"];
  const HATCHES = ["", "/", ".", "x", "\\", "+", "-"];
  const of = (list, look) => list[look % list.length];
  // Dark paper takes lighter colours of the same order; black there is the ink's.
  const BRIGHT = ["#4fb0ee", "#f58b4c", "#26d0a0", "#eaa6cf", "#f2bc45", "#a5ddfb", "#e4e7ea"];
  const dark = () => matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
  const hue = (look) => of(dark() ? BRIGHT : HUES, look);
  const digits = (value) => value === null ? "–" : String(Number(value.toPrecision(4)));
  const wrapped = (text) => plain(text).replace(/\n/g, "<br>");

  /* ---------- curves, bars, cells ---------- */

  function curveTraces(curve) {
    const colour = hue(curve.look), name = plain(curve.label), group = `g${curve.look}`;
    const none = (k) => curve.limits.includes(k);
    const ends = (k) => none(k) ? `, none seen: at most ${digits(curve.high[k])}` : curve.low.length ? ` [${digits(curve.low[k])}, ${digits(curve.high[k])}]` : "";
    const text = curve.x.map((x, k) => (name ? `<b>${name}</b><br>` : "") +
      (curve.texts.length ? wrapped(curve.texts[k]) : `${digits(curve.y[k])}${ends(k)}<br>at ${digits(x)}`) +
      (curve.n.length ? `<br>n = ${curve.n[k]}` : ""));
    const base = {
      type: "scatter", x: curve.x, y: curve.y, name, legendgroup: group, showlegend: Boolean(name),
      text, hovertemplate: "%{text}<extra></extra>",
    };
    const line = {color: colour, width: 2, dash: of(DASHES, curve.look)};
    const marker = {color: colour, symbol: of(SYMBOLS, curve.look), size: 7};
    if (curve.kind === "steps") return [Object.assign(base, {mode: "lines", line: Object.assign(line, {shape: "hv"})})];
    if (curve.kind === "plain") return [Object.assign(base, {mode: "lines", line}, name ? {} : {hoverinfo: "skip", hovertemplate: ""})];
    if (curve.kind === "points") {
      const open = Object.assign(marker, {symbol: `${marker.symbol}-open`, size: 6, opacity: 0.75});
      return [Object.assign(base, {mode: "markers", marker: open})];
    }
    if (curve.kind === "errors") {
      const arm = (side) => curve.y.map((y, k) => side[k] === null || y === null ? 0 : Math.abs(side[k] - y));
      return [Object.assign(base, {
        mode: "markers", marker: Object.assign(marker, {size: 9}),
        error_y: {type: "data", symmetric: false, array: arm(curve.high), arrayminus: arm(curve.low), color: colour, thickness: 1.6, width: 5},
      })];
    }
    const lined = Object.assign(base, {mode: "lines+markers", line, marker, cliponaxis: false}); // A mark at 0 is whole.
    const pick = (values, places) => places.map((k) => values[k]), still = {type: "scatter", hoverinfo: "skip", showlegend: false, legendgroup: group};
    // A band joins intervals of one kind; one alone is a bar, and where nothing was seen the bound hangs.
    const bands = curve.bands.map((places) => Object.assign({
      x: pick(curve.x, places.concat(places.slice().reverse())), y: pick(curve.high, places).concat(pick(curve.low, places).reverse()),
      fill: "toself", fillcolor: `${colour}1c`, line: {width: places.length > 1 ? 0 : 1.6, color: colour}, mode: "lines",
    }, still));
    return [...bands, lined, ...limitTraces(curve, colour, still)];
  }

  /* Upper bounds as arrows that hang from a cap, those of other curves at the same x beside them. */
  function limitTraces(curve, colour, still) {
    if (!curve.limits.length) return [];
    const wide = Math.max(...curve.x) - Math.min(...curve.x) || 1, step = Math.floor((curve.look % HUES.length + 1) / 2);
    const aside = wide * 0.012 * (curve.look % 2 ? step : -step);
    const x = curve.limits.map((k) => curve.x[k] + aside), y = curve.limits.map((k) => curve.high[k]);
    const text = curve.limits.map((k) => `<b>${plain(curve.label)}</b><br>none seen: at most ${digits(curve.high[k])}<br>at ${digits(curve.x[k])}`);
    const cap = {symbol: "line-ew", size: 6, line: {color: colour, width: 2}};
    return [
      Object.assign({}, still, {x, y, mode: "markers", marker: cap}),
      Object.assign({}, still, {
        x, y, mode: "markers", text, hoverinfo: "text",
        marker: {symbol: "triangle-down", size: 9, color: colour},
      }),
    ];
  }

  function barTraces(panel) {
    return panel.bars.map((layer) => ({
      type: "bar", x: panel.categories.map((_, k) => k), y: layer.y, name: plain(layer.label), showlegend: Boolean(layer.label),
      text: layer.texts.map(plain), textposition: "outside", cliponaxis: false, textangle: 0,
      marker: {color: hue(layer.look), pattern: {shape: of(HATCHES, layer.look), bgcolor: hue(layer.look), fgcolor: "#ffffff", solidity: 0.25, size: 7}, line: {width: 0}},
      hovertext: panel.categories.map((name, k) => `<b>${plain(name)}</b><br>${plain(layer.label || panel.y_label)} ${digits(layer.y[k])}` +
        (layer.texts.length ? `<br>${plain(layer.texts[k])}` : "")),
      hoverinfo: "text",
    }));
  }

  /* Stretches of time on rows. */
  function spanTraces(panel) {
    return panel.spans.map((layer) => ({
      type: "bar", orientation: "h", y: layer.rows, base: layer.begin, x: layer.end.map((end, k) => end - layer.begin[k]), width: layer.height,
      name: plain(layer.label), showlegend: true, hoverinfo: "text",
      hovertext: layer.rows.map((row, k) => `<b>${plain(panel.rows[row])}</b><br>${wrapped(layer.texts[k] || layer.label)}<br>from ${layer.begin[k]} to ${layer.end[k]}: ${digits(layer.end[k] - layer.begin[k])}`),
      // Looks of one colour have hatches of their own.
      marker: {color: hue(layer.look), pattern: {shape: of(HATCHES, layer.look + Math.floor(layer.look / HUES.length)), bgcolor: hue(layer.look), fgcolor: "#ffffff", solidity: 0.25, size: 7}, line: {width: 0}},
    })).concat(panel.curves.flatMap(curveTraces));
  }

  const COLOURED = ["shown", "at-least"], MEASURED = [...COLOURED, "faint", "at-most"];
  const valued = (heat, states, of = heat.heights) => of.map((line, r) => line.map((value, k) => states.includes(heat.states[r][k]) ? value : null));

  /* Cells of a state as closed outlines, hatched. */
  function outlines(heat, state, look) {
    const x = [], y = [], c = colours(), xe = heat.x_edges, ye = heat.y_edges;
    heat.states.forEach((line, r) => line.forEach((cell, k) => {
      if (cell !== state) return;
      x.push(xe[k], xe[k + 1], xe[k + 1], xe[k], xe[k], null);
      y.push(ye[r], ye[r], ye[r + 1], ye[r + 1], ye[r], null);
    }));
    return Object.assign({
      type: "scatter", mode: "lines", x, y, fill: "toself", hoverinfo: "skip", showlegend: false,
      line: {color: c.grid, width: 1}, fillcolor: state === "faint" ? c.grid : c.paper,
    }, look ? {fillpattern: {shape: look, fgcolor: c.soft, bgcolor: state === "at-least" ? "rgba(0,0,0,0)" : c.paper, size: 8, solidity: 0.2}} : {});
  }

  /* Lines that join cells of equal value: a dark line below, as white alone is lost on light cells. */
  function contours(heat, z) {
    const levels = heat.levels, made = {
      type: "contour", x: heat.x_places, y: heat.y_places, z, hoverinfo: "skip", showscale: false, autocontour: false, connectgaps: false,
      contours: {coloring: "lines", start: levels[0], end: levels[levels.length - 1], size: levels.length > 1 ? levels[1] - levels[0] : 1, showlabels: false},
    };
    const line = (color, width, opacity) => Object.assign({}, made, {line: {color, width, smoothing: 0}, colorscale: [[0, color], [1, color]], opacity});
    return levels.length ? [line("#000000", 3, 0.35), line("#ffffff", 1.4, 1)] : [];
  }

  /* What is written into the cells: dark on light ones, light on dark ones, with a halo against the lines. */
  function cellTexts(heat, width) {
    const wide = (width - 130) / heat.x.length, size = Math.min(12, wide / 3.4), x = [], y = [], text = [], ink = [], shadow = [], c = colours();
    const noted = wide > 78 && heat.keys.length && BIG / heat.y.length > 52; // Room for an interval, and for three lines.
    heat.texts.forEach((line, r) => line.forEach((words, k) => {
      const value = heat.heights[r][k], plainCell = !COLOURED.includes(heat.states[r][k]);
      const dark = heat.diverging ? Math.abs(value) > 0.6 * heat.high : (value - heat.floor) / (heat.top - heat.floor) < 0.6;
      const back = dark ? "#000000c0" : "#ffffffc0";
      x.push(heat.x_places[k]); y.push(heat.y_places[r]); text.push(plain(words) + (noted && heat.notes[r][k] ? `<br><span style="font-size:10px">${wrapped(heat.notes[r][k])}</span>` : ""));
      ink.push(plainCell ? c.ink : dark ? "#ffffff" : "#101010");
      shadow.push(plainCell ? `0 0 3px ${c.paper}, 0 0 2px ${c.paper}` : heat.levels.length ? `0 0 5px ${back}, 0 0 3px ${back}, 0 0 2px ${back}` : "none");
    }));
    return {type: "scatter", mode: size < 6 ? "none" : "text", x, y, text, textfont: {size, color: ink, shadow}, hoverinfo: "skip", showlegend: false};
  }

  function heatTraces(panel, width) {
    const heat = panel.heat, z = valued(heat, COLOURED), scale = heat.diverging ? DIVERGING : "Viridis";
    return [
      {
        type: "heatmap", x: heat.x_edges, y: heat.y_edges, z, zmin: heat.floor, zmax: heat.top, colorscale: scale, xgap: 1, ygap: 1, hoverinfo: "skip",
        colorbar: {...tickedAt(heat.ticks, heightIn(heat)), title: {text: plain(heat.unit), side: "right", font: {size: 11}}, thickness: width < 480 ? 10 : 12, outlinewidth: 0, ...(heat.sortable && width < 480 ? {orientation: "h", y: 1.02, yanchor: "bottom"} : {})},
      },
      ...contours(heat, valued(heat, MEASURED, heat.values)),
      outlines(heat, "faint", ""), outlines(heat, "at-least", "\\"), outlines(heat, "at-most", "."),
      outlines(heat, "undecided", "x"), outlines(heat, "absent", "/"), cellTexts(heat, width),
      // Last, and over every cell: what the pointer finds, whatever lies below.
      {
        type: "heatmap", x: heat.x_edges, y: heat.y_edges, z: heat.values.map((line) => line.map(() => 0)), hovertext: heat.hover.map((line) => line.map(wrapped)),
        hoverinfo: "text", showscale: false, colorscale: [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]],
      },
    ];
  }

  /* A frame around the chosen cell. */
  function chosenShapes(heat) {
    const c = colours(), r = heat.keys.findIndex((line) => line.includes(chosen));
    if (r < 0) return [];
    const k = heat.keys[r].indexOf(chosen);
    const box = {type: "rect", x0: heat.x_edges[k], x1: heat.x_edges[k + 1], y0: heat.y_edges[r], y1: heat.y_edges[r + 1]};
    return [Object.assign({line: {color: c.paper, width: 5}}, box), Object.assign({line: {color: c.ink, width: 2.5}}, box)];
  }

  /* The heat map in space: straight between neighbours, with holes; dots are the cells. */
  function surfaceTraces(panel) {
    const heat = panel.heat, z = valued(heat, MEASURED), wires = [[], [], []], dots = [[], [], []], hovertext = [];
    const put = (into, r, k) => [heat.x_places[k], heat.y_places[r], z[r][k]].forEach((value, at) => into[at].push(value));
    const cut = () => wires.forEach((list) => list.push(null));
    z.forEach((line, r) => { line.forEach((_, k) => put(wires, r, k)); cut(); });
    heat.x.forEach((_, k) => { z.forEach((__, r) => put(wires, r, k)); cut(); });
    z.forEach((line, r) => line.forEach((value, k) => {
      if (value === null) return;
      put(dots, r, k);
      hovertext.push(wrapped(heat.hover[r][k]));
    }));
    const c = colours(), place = ([x, y, height]) => ({type: "scatter3d", x, y, z: height, showlegend: false});
    return [
      {
        type: "surface", x: heat.x_places, y: heat.y_places, z, cmin: heat.floor, cmax: heat.top, colorscale: heat.diverging ? DIVERGING : "Viridis",
        showscale: false, connectgaps: false, hoverinfo: "skip", opacity: 0.94, lighting: {ambient: 0.85, diffuse: 0.35, specular: 0.03, roughness: 1},
        contours: {x: {highlight: false}, y: {highlight: false}, z: {highlight: false}},
      },
      Object.assign(place(wires), {mode: "lines", connectgaps: false, hoverinfo: "skip", line: {color: c.soft, width: 1.5}}),
      Object.assign(place(dots), {mode: "markers", hovertext, hoverinfo: "text", marker: {size: 2.6, color: c.ink}}),
    ];
  }

  function surfaceLayout(panel) {
    const c = colours(), heat = panel.heat;
    const axis = (words) => ({color: c.ink, gridcolor: c.grid, zeroline: false, showbackground: false, title: {text: plain(words), font: {size: 12}}});
    const unit = heat.unit.replace(/ \(.*/, heat.unit.includes("(%") ? " (%)" : "");
    return frame({
      margin: {l: 0, r: 0, t: 0, b: 0}, uirevision: "turned", height: BIG,
      scene: {
        xaxis: axis(panel.x_label), yaxis: axis(panel.y_label), zaxis: Object.assign(axis(unit), {range: [heat.floor, heat.top], nticks: 6}, tickedAt(heat.ticks, heightIn(heat))),
        aspectmode: "manual", aspectratio: {x: 1, y: 1, z: 0.75}, camera: {eye: {x: -1.28, y: -1.32, z: 0.73}, center: {x: 0, y: 0, z: -0.1}},
      },
    });
  }

  // As matplotlib's RdBu_r: blue below 0, red above.
  const DIVERGING = [[0, "#053061"], [0.1, "#2166ac"], [0.2, "#4393c3"], [0.3, "#92c5de"], [0.4, "#d1e5f0"], [0.5, "#f7f7f7"],
    [0.6, "#fddbc7"], [0.7, "#f4a582"], [0.8, "#d6604d"], [0.9, "#b2182b"], [1, "#67001f"]];

  /* ---------- axes ---------- */

  function axis(panel, which) {
    const c = colours(), log = which === "x" ? panel.x_log : panel.y_log, ticks = tickedAt(panel[`${which}_ticks`]), limits = which === "x" ? panel.x_limits : panel.y_limits;
    const made = {title: {text: plain(which === "x" ? panel.x_label : panel.y_label), font: {size: 12}}, gridcolor: c.grid, zeroline: false, automargin: true};
    if (log) {
      const [low, high] = which === "x" ? panel.x_span : panel.y_span;
      return Object.assign(made, {type: "log", range: [Math.log10(low), Math.log10(high)], tickformat: ".4~g", nticks: 5}, ticks);
    }
    if (limits) made.range = limits.slice();
    return Object.assign(made, ticks);
  }

  const cells = (names, places, edges) => {
    const every = Math.ceil(names.length / 16), kept = names.map((_, k) => k).filter((k) => k % every === 0);
    return {tickmode: "array", tickvals: kept.map((k) => places[k]), ticktext: kept.map((k) => plain(names[k])), showgrid: false, range: [edges[0], edges[edges.length - 1]]};
  };

  function shapes(panel) {
    const c = colours();
    return panel.marks.map((mark, k) => {
      const other = mark.axis === "x" ? "y" : "x", to = mark.to === null ? mark.at : mark.to;
      return {
        type: mark.to === null ? "line" : "rect", layer: typeof mark.look === "number" ? "above" : "below", [`${other}ref`]: `${other} domain`, [`${other}0`]: 0, [`${other}1`]: 1,
        [`${mark.axis}0`]: mark.at, [`${mark.axis}1`]: to, fillcolor: c.soft, opacity: mark.to === null ? 0.9 : 0.2,
        line: typeof mark.look === "number" ? {color: hue(mark.look), width: 2.5, dash: mark.look === HUES.length - 1 ? "solid" : of(DASHES, mark.look)}
          : mark.to === null ? {color: c.soft, width: 1.2, dash: mark.label ? "dash" : "solid"} : {width: 0},
        name: plain(mark.label), legendgroup: plain(mark.label), // Two marks of one name have one entry.
        showlegend: Boolean(mark.label) && !panel.rows.length && panel.marks.findIndex((other) => other.label === mark.label) === k,
      };
    });
  }

  function layout(panel, width, legend) {
    const names = [...new Set(panel.curves.concat(panel.bars, panel.spans, panel.rows.length ? [] : panel.marks).map((item) => item.label).filter(Boolean))];
    const across = Math.max(1, Math.floor(width / (Math.max(0, ...names.map((name) => name.length)) * 7 + 55)));
    const rows = names.length > 1 ? Math.ceil(names.length / across) : 0;
    const made = frame({
      margin: {l: 56, r: 12, t: 12, b: 56 + 21 * rows}, xaxis: axis(panel, "x"), yaxis: axis(panel, "y"), shapes: shapes(panel),
      showlegend: legend && names.length > 1, legend: {orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom", traceorder: "normal", font: {size: 11}},
      barmode: "stack", bargap: 0.28, height: 330 + 21 * rows, uniformtext: {mode: "show", minsize: 8},
    });
    if (panel.heat) {
      const heat = panel.heat;
      Object.assign(made.xaxis, cells(heat.x, heat.x_places, heat.x_edges));
      Object.assign(made.yaxis, cells(heat.y, heat.y_places, heat.y_edges));
      made.shapes.push(...chosenShapes(heat));
      if (heat.keys.length) made.height = BIG;
      if (heat.sortable) { // Every row and column has its name.
        made.height = 150 + 24 * heat.y.length;
        made.xaxis.tickangle = width < 480 ? -90 : -30; // Turned the other way the last name would be dropped.
        made.xaxis.tickfont = made.yaxis.tickfont = {size: width < 480 ? 8 : 11};
        made.yaxis.title = ""; // It would lie on the names.
        if (width < 480) made.xaxis.title = "";
      }
    } else if (panel.categories.length) {
      const at = panel.categories.map((_, k) => k);
      Object.assign(made.xaxis, {tickmode: "array", tickvals: at, ticktext: panel.categories.map(plain), showgrid: false, range: [-0.6, at.length - 0.4]});
      // Turned so that a name ends below its place: turned the other way the last one would leave the page and be dropped.
      const longest = Math.max(...panel.categories.map((name) => name.length)) * 7;
      if (longest + 12 > (width - 70) / at.length) {
        made.xaxis.tickangle = -30;
        made.height += Math.round(longest / 2); // sin 30°: the names take it, not the drawing.
      }
    }
    if (panel.rows.length) {
      const short = width < 480 ? 13 : 28, cut = (name) => name.length > short ? `${name.slice(0, short - 1)}…` : name;
      Object.assign(made.yaxis, {tickmode: "array", tickvals: panel.rows.map((_, k) => k), ticktext: panel.rows.map((name) => plain(cut(name))), showgrid: false, range: [panel.rows.length - 0.5, -0.5], fixedrange: true});
      // A name stands on the first line where it has room. At the ends it stays inside.
      const longest = Math.max(...panel.rows.map((name) => cut(name).length)), ends = [], [low, high] = panel.x_limits;
      const px = Math.max(width - 40 - 7 * longest, 100) / (high - low), share = (at) => (at - low) / (high - low);
      const side = (at) => share(at) > 0.85 ? 1 : share(at) < 0.15 ? 0 : 0.5;
      made.annotations = panel.marks.slice().sort((a, b) => a.at - b.at).map((mark) => {
        const wide = 7 * mark.label.length + 8, left = (mark.at - low) * px - wide * side(mark.at), free = ends.findIndex((end) => end <= left), line = free < 0 ? ends.length : free;
        ends[line] = left + wide;
        return {text: plain(mark.label), x: mark.at, xanchor: ["left", "center", "right"][2 * side(mark.at)], y: 1, yref: "paper", yanchor: "bottom", yshift: 15 * line, showarrow: false, font: {size: 11}};
      });
      made.margin.t = 14 + 15 * ends.length;
      Object.assign(made, {barmode: "overlay", height: 76 + made.margin.t + 34 * panel.rows.length + 21 * rows});
    } else if (!panel.y_log && !panel.y_limits && !panel.heat && !panel.categories.length) {
      // Room below 0, so that a mark there does not lie on the names of the axis.
      const top = Math.max(0, ...panel.curves.flatMap((curve) => [...curve.y, ...curve.high]).filter(Number.isFinite));
      const least = Math.min(0, ...panel.curves.flatMap((curve) => [...curve.y, ...curve.low]).filter(Number.isFinite));
      if (panel.curves.length && least === 0 && top > 0 && panel.curves.every((curve) => curve.kind !== "steps")) made.yaxis.range = [-0.045 * top, 1.08 * top];
      else made.yaxis.rangemode = "tozero";
    }
    if (panel.blank) {
      made.annotations = [{text: plain(panel.empty), x: 0.5, y: 0.5, xref: "paper", yref: "paper", showarrow: false, font: {size: 14, color: colours().soft}}];
      ["xaxis", "yaxis"].forEach((name) => Object.assign(made[name], {showticklabels: false, showgrid: false}));
    }
    return made;
  }

  /* ---------- drawing ---------- */

  const pause = () => new Promise((done) => setTimeout(done, 0));

  /* What the arrows are, once a legend, in no curve's colour. */
  function boundEntry(panel, bound) {
    if (!panel.curves.some((curve) => curve.limits.length)) return [];
    return [{type: "scatter", x: [null], y: [null], mode: "markers", name: bound, hoverinfo: "skip", marker: {symbol: "triangle-down", size: 9, color: colours().soft}}];
  }

  /* Paper is narrower than most windows, and there is no time to draw again: a chart shrinks as it is. */
  let printing = false;
  function shrink(box) {
    const [width, height] = ["width", "height"].map((side) => box.querySelector(".main-svg").getAttribute(side));
    Object.assign(box.style, {aspectRatio: `${width} / ${height}`, maxWidth: `min(100%, ${width}px)`});
    box.querySelectorAll(".main-svg").forEach((drawn) => drawn.setAttribute("viewBox", `0 0 ${width} ${height}`));
  }

  /* Draws into a place; a drawing is refused in words where the browser cannot. */
  async function drawPanel(id, panel, legend, bound) {
    const node = byId(id), width = node.clientWidth;
    try {
      await plotlyReady;
      if (panel.surface && !WEBGL) throw new Error("it needs WebGL. The heat map above it shows the same numbers, the folder figures/ has it as a picture");
      const traces = panel.surface ? surfaceTraces(panel) : panel.heat ? heatTraces(panel, width) : panel.spans.length ? spanTraces(panel) : panel.bars.length ? barTraces(panel) : panel.curves.flatMap(curveTraces).concat(boundEntry(panel, bound));
      const made = panel.surface ? surfaceLayout(panel) : layout(panel, width, legend);
      node.style.height = `${made.height}px`; // The drawing does not stretch its place: what follows would lie below it.
      const library = panel.surface ? await Plotly.raised() : Plotly;
      await library.react(node, traces, made, config(id));
      if (printing) shrink(node.querySelector(".svg-container"));
      if (panel.heat && panel.heat.keys.length) listen(node, panel.heat);
      node.dataset.drawn = panel.name || id;
    } catch (error) {
      node.textContent = `This figure cannot be drawn here: ${error.message || error}`;
      node.dataset.drawn = "refused";
    }
  }

  /* A click on a cell chooses it, for the page and for every heat map that has it. */
  const tell = (key) => document.dispatchEvent(new CustomEvent("deadbeat-cell", {detail: key}));
  function listen(node, heat) {
    node.removeAllListeners("plotly_click");
    node.on("plotly_click", (event) => {
      const cell = event.points.find((item) => item.data.type === "heatmap");
      if (cell) tell(heat.keys[cell.pointIndex[0]][cell.pointIndex[1]]);
    });
  }

  const others = new Map(); // Panels that the page has made itself.
  const figure = (chart) => byId(`chart-${chart.name}`);
  /* Every panel that is shown; small multiples share the legend of the first. */
  const places = () => [...others].map(([id, panel]) => ({id, panel, legend: true, bound: ""})).concat(
    charts.filter((chart) => !figure(chart).hidden).flatMap((chart) => chart.panels.map((panel, k) => ({
      id: `${chart.name}-${k}`, panel, legend: chart.panels.length <= 4 || k === 0, bound: chart.bound,
    }))).filter((place) => !byId(place.id).closest("details.raised:not([open])")));

  // One drawing at a time; what was asked for meanwhile is drawn after it. Plotly is not safe against more.
  const waiting = new Set();
  let busy = false;
  async function draw(id) {
    places().forEach((place) => { if (!id || place.id === id) waiting.add(place.id); });
    document.documentElement.dataset.charts = "";
    if (busy) return;
    busy = true;
    while (waiting.size) {
      const [next] = waiting, place = places().find((item) => item.id === next);
      waiting.delete(next);
      if (place) await drawPanel(place.id, place.panel, place.legend, place.bound);
      await pause();
    }
    busy = false;
    document.documentElement.dataset.charts = "drawn";
  }

  /* ---------- choices ---------- */

  const keyed = (chart) => chart.panels.map((panel) => panel.heat).find((heat) => heat && heat.keys.length);
  const rowOf = (heat, key) => heat.keys.findIndex((line) => line.includes(key));
  const ofFamily = (family) => charts.filter((chart) => figure(chart).dataset.family === family);
  const shownOf = (family) => ofFamily(family).find((chart) => !figure(chart).hidden);
  const boxes = (family) => [...document.querySelectorAll("select[data-family]")].filter((box) => box.dataset.family === family);
  const OPTION = " · ";

  /* Shows the chart of a family whose parts of the option are those chosen. */
  function present(family) {
    const wanted = boxes(family).map((box) => box.value).join(OPTION);
    ofFamily(family).forEach((chart) => { figure(chart).hidden = figure(chart).dataset.option !== wanted; });
  }

  /* The chosen cell is that at the same place of another heat map. */
  function change(family) {
    const before = shownOf(family), old = before && keyed(before);
    present(family);
    const after = shownOf(family), now = after && keyed(after);
    const r = old && now ? rowOf(old, chosen) : -1;
    if (r >= 0) tell(now.keys[r][old.keys[r].indexOf(chosen)]);
    draw();
  }
  document.querySelectorAll("details.raised").forEach((fold) => fold.addEventListener("toggle", () => fold.open && draw(fold.querySelector(".plot").id)));
  document.querySelectorAll("select[data-family]").forEach((box) => box.addEventListener("change", () => change(box.dataset.family)));

  /* Heat maps that lack the chosen cell give way to one of the same quantity that has it. */
  document.addEventListener("deadbeat-cell", (event) => {
    chosen = event.detail;
    new Set(charts.map((chart) => figure(chart).dataset.family)).forEach((family) => {
      const now = family && shownOf(family);
      if (!now || !keyed(now) || rowOf(keyed(now), chosen) >= 0) return;
      const quantity = boxes(family)[0].value + OPTION;
      const other = ofFamily(family).find((chart) => figure(chart).dataset.option.startsWith(quantity) && rowOf(keyed(chart), chosen) >= 0);
      if (!other) return;
      figure(other).dataset.option.split(OPTION).forEach((part, k) => { boxes(family)[k].value = part; });
      present(family);
    });
    draw();
  });

  /* Rows and columns of a heat map as they came, the largest at the top and left, or one sorted by one of the other. */
  function sort(heat, {cells, x, y}, how, at) {
    const value = (r, k) => cells[r][k].value === null ? -Infinity : cells[r][k].value;
    const highest = {row: (r) => Math.max(...x.map((_, k) => value(r, k))), column: (k) => Math.max(...y.map((_, r) => value(r, k)))};
    const order = (names, key) => names.map((_, k) => k).sort((a, b) => key && key(a) !== key(b) ? key(a) - key(b) : a - b);
    const rows = order(y, how === "rows" ? (r) => value(r, at) : how === "largest" ? highest.row : null);
    const columns = order(x, how === "columns" ? (k) => -value(at, k) : how === "largest" ? (k) => -highest.column(k) : null);
    Object.assign(heat, {x: columns.map((k) => x[k]), y: rows.map((r) => y[r]), cells: rows.map((r) => columns.map((k) => cells[r][k]))});
    read(heat);
  }

  charts.forEach((chart) => chart.panels.forEach(({heat}, place) => {
    if (!heat || !heat.sortable) return;
    const made = {cells: heat.cells, x: heat.x, y: heat.y}, box = document.createElement("select");
    const choices = [[heat.sortable, "made"], ["largest first", "largest"],
      ...heat.y.map((name, at) => [`columns by ${name}`, "columns", at]).reverse(), ...heat.x.map((name, at) => [`rows by ${name}`, "rows", at])];
    choices.forEach(([words], k) => box.add(new Option(words, k)));
    box.autocomplete = "off";
    box.addEventListener("change", () => {
      sort(heat, made, ...choices[box.value].slice(1));
      draw(`${chart.name}-${place}`);
    });
    const label = Object.assign(document.createElement("label"), {textContent: "Order"}), controls = Object.assign(document.createElement("div"), {className: "controls"});
    label.append(box);
    controls.append(label);
    byId(`${chart.name}-${place}`).before(controls);
  }));

  /* ---------- to keep ---------- */

  /* What a panel shows, a line each, for a spreadsheet. */
  function numbers(panel) {
    const lines = [];
    if (panel.heat) {
      lines.push([panel.y_label, panel.x_label, panel.heat.unit, "text", "interval and n"]);
      panel.heat.values.forEach((line, r) => line.forEach((value, k) => lines.push([panel.heat.y[r], panel.heat.x[k], value, panel.heat.texts[r][k], panel.heat.notes[r][k]])));
    } else if (panel.bars.length) {
      lines.push(["layer", panel.x_label, panel.y_label]);
      panel.bars.forEach((layer) => layer.y.forEach((value, k) => lines.push([layer.label, panel.categories[k], value])));
    } else if (panel.spans.length) {
      lines.push(["row", "what", "begin", "end", panel.x_label]);
      panel.spans.forEach((layer) => layer.rows.forEach((row, k) => lines.push([panel.rows[row], layer.label, layer.begin[k], layer.end[k], layer.texts[k]])));
    } else {
      lines.push(["curve", panel.x_label, panel.y_label, "low", "high", "n"]);
      panel.curves.forEach((curve) => curve.x.forEach((x, k) => lines.push([curve.label, x, curve.y[k], curve.low[k], curve.high[k], curve.n[k]])));
    }
    const cell = (value) => value === null || value === undefined ? "" : String(value).replace(/[\t\r\n]+/g, " ").replace(/^[=+@-](?![\d.])/, "'$&");
    return [[panel.title], ...lines].map((line) => line.map(cell).join("\t")).join("\n");
  }

  async function copy(text, button) {
    const label = button.textContent;
    try { await navigator.clipboard.writeText(text); } catch (error) { // An older browser, or no right to ask.
      const area = document.body.appendChild(Object.assign(document.createElement("textarea"), {value: text}));
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  }

  async function save(chart, format) {
    for (const [k, panel] of chart.panels.entries()) {
      const node = byId(`${chart.name}-${k}`);
      if (panel.surface && !node.dataset.drawn) continue;
      const library = panel.surface ? await Plotly.raised() : Plotly;
      await library.downloadImage(node, {format, filename: `deadbeat-${chart.name}${chart.panels.length > 1 ? `-${k + 1}` : ""}`, width: node.clientWidth, height: node.clientHeight, scale: format === "png" ? 2 : 1});
    }
  }

  charts.forEach((chart) => {
    const keep = Object.assign(document.createElement("div"), {className: "keep"});
    const button = (label, act) => {
      const made = Object.assign(document.createElement("button"), {type: "button", textContent: label});
      made.addEventListener("click", () => act(made));
      keep.append(made);
    };
    button("save SVG", () => save(chart, "svg"));
    button("save PNG", () => save(chart, "png"));
    button("copy numbers", (made) => copy(chart.panels.filter((panel) => !panel.surface).map(numbers).join("\n\n"), made));
    figure(chart).append(keep);
  });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  addEventListener("beforeprint", () => { printing = true; document.querySelectorAll(".svg-container").forEach(shrink); });
  addEventListener("afterprint", () => {
    printing = false;
    document.querySelectorAll(".svg-container").forEach((box) => {
      Object.assign(box.style, {aspectRatio: "", maxWidth: ""});
      box.querySelectorAll(".main-svg").forEach((drawn) => drawn.removeAttribute("viewBox"));
    });
  });
  matchMedia("print").addEventListener("change", () => matchMedia("(prefers-color-scheme: dark)").matches && draw());
  charts.forEach((chart) => chart.panels.forEach((panel) => { if (panel.surface) panel.heat = keyed(chart); }));
  draw();

  /* A panel as `charts.py` makes one, with what it does not name left at nothing. */
  const EMPTY = {x_label: "", y_label: "", rows: [], spans: [], curves: [], bars: [], categories: [], heat: null, surface: false, marks: [], x_log: false, y_log: false, x_limits: null, y_limits: null, x_ticks: [], y_ticks: [], blank: false, empty: ""};
  const CURVE = {low: [], high: [], bands: [], limits: [], n: [], texts: [], look: 0, kind: "steps", label: ""};
  function show(id, panel) {
    others.set(id, Object.assign({}, EMPTY, panel, {curves: panel.curves.map((curve) => Object.assign({}, CURVE, curve))}));
    draw(id);
  }
  return {show};
})();
