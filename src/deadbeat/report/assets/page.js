"use strict";
(function () {
  const {plain, colours, frame, config, logTicks} = plots;
  const data = JSON.parse(document.getElementById("deadbeat-data").textContent);
  const byId = (id) => document.getElementById(id);
  const ROWS_AT_ONCE = 300;
  const WEBGL = Boolean(document.createElement("canvas").getContext("webgl"));
  const VIEWS = [["histogram", "histogram"], ["cdf", "CDF"], ["tail", "tail (1 − CDF)"]];
  const DISTRIBUTIONS = [
    ["slowdown", "slowdown", "slowdown of a job (span / median span alone)"],
    ["delay_ratio", "delay ratio", "delay ratio of a job (span / C)"],
    ["response_ratio", "response ratio", "response ratio of a job ((f − r) / C)"],
  ];
  const column = Object.fromEntries(data.row_columns.map((name, index) => [name, index]));
  // Only a campaign with several deadline factors has them in its keys, words and controls.
  const several = data.factors.length > 1;
  const keyOf = (m, rho, alpha, factor = state.factor) =>
    `${m}/${Math.round(rho * 1000)}/${Math.round(alpha * 1000)}` + (several ? `/${Math.round(factor * 1000)}` : "");
  const rowKey = (row) => keyOf(row[0], row[1], row[2], row[column.deadline_factor]);
  const state = {
    cores: data.cores[data.cores.length - 1], factor: data.factors[0], metric: 0, rho: 0, alpha: 0,
    distribution: "slowdown", view: "histogram",
    sort: [["cores", 1], ["sync_share", 1], ["contended_ratio", 1]], only: "all", rows: ROWS_AT_ONCE,
  };
  const rowOf = new Map(data.rows.map((row) => [rowKey(row), row]));
  const gridOf = (metric) => metric.grids[several ? `${state.cores}/${state.factor}` : state.cores];
  const factorWords = () => several ? `, D/C = ${state.factor}` : "";
  const factorName = () => several ? `-d${state.factor}` : "";

  /* ---------- words and numbers ---------- */

  const {make, show} = deadbeatWords;
  const between = (low, high, kind) =>
    (low === null || high === null) ? "" : `[${show(low, kind)}, ${show(high, kind)}]`;
  /* A value with its interval; when no deadline was missed, what the ratio is at most; and what a
     needed deadline is at least where its end was not seen. */
  function valueTexts(row, name, kind, low, high) {
    const value = row[column[name]], ends = low ? [row[column[low]], row[column[high]]] : [null, null];
    if (name.includes("deadline_needed") && low && ends[1] === null) return [ends[0] === null ? show(value, kind) : `≥ ${show(ends[0], kind)}`, ""];
    if (name === "deadline_miss_ratio" && value === 0 && ends[1]) return [`< ${show(ends[1], kind)}`, "(none seen)"];
    const one = low && row[column[`${name.replace("_mean", "")}_ci_basis`]] === "rounds" && ends[0] !== null ? " one set" : "";
    return [show(value, kind), value === null ? "" : between(ends[0], ends[1], kind) + one];
  }
  const kindOf = (metric) => metric.scale === 100 ? "percent" : metric.from_below ? "multiple" : "ratio";
  /* A metric of a point in words, with that of the same tasks alone beside it where there is one. */
  function metricText(metric, row) {
    const kind = kindOf(metric), own = valueTexts(row, metric.column, kind, metric.low, metric.high).join(" ").trim();
    if (!metric.alone || own === "–") return own;
    const ends = metric.from_below ? [`${metric.alone}_low`, `${metric.alone}_high`] : [];
    return `${own}, alone ${valueTexts(row, metric.alone, kind, ...ends)[0]}`;
  }
  const origin = () => data.labels.includes("SIMULATED") ? "simulated" : "measured";
  const stamp = () => data.labels.length ? ` — ${data.labels.join(", ")}` : "";
  const pointWords = (m, rho, alpha) => `M = ${m}, ρ = ${rho}, α = ${alpha}${factorWords()}`;

  /* ---------- plots ---------- */

  // Titles stand above the plots, where they wrap; the labels are part of every one.
  function entitle(id, words, description) {
    byId(`${id}-title`).textContent = words + stamp();
    byId(id).setAttribute("aria-label", description + stamp());
  }

  // One drawing of a plot at a time, and of several wanted meanwhile only the last: Plotly is not
  // safe against being called again while it draws.
  const wanted = {}, busy = {};
  function draw(id, traces, layout, name) {
    byId(id).dataset.drawn = "";
    wanted[id] = {traces, layout, name};
    if (!busy[id]) busy[id] = drawWanted(id);
    return busy[id];
  }

  function refuse(id, words) {
    byId(id).replaceChildren(make("p", words, {class: "failed"}));
    byId(id).dataset.drawn = "refused";
    return Promise.resolve();
  }

  async function drawWanted(id) {
    const node = byId(id);
    while (wanted[id]) {
      const {traces, layout, name} = wanted[id];
      delete wanted[id];
      try {
        await null;
        if (node.querySelector(".failed")) node.replaceChildren();
        await Plotly.react(node, traces, layout, config(name));
        if (!wanted[id]) node.dataset.drawn = name;
      } catch (error) {
        refuse(id, `This figure cannot be drawn here: ${error.message || error}`);
      }
    }
    busy[id] = null;
  }

  function hoverTexts(metric, grid) {
    return grid.values.map((line, r) => line.map((value, a) => {
      const rho = data.sync_shares[r], alpha = data.contended_ratios[a];
      const row = rowOf.get(keyOf(state.cores, rho, alpha));
      const head = `<b>${plain(pointWords(state.cores, rho, alpha))}</b><br>`;
      if (value === null) return head + plain(grid.states[r][a]);
      return head + plain(`${metric.name} ${metricText(metric, row)}`) +
        `<br>${row[column.task_sets]} task sets, ${show(row[column.jobs], "integer")} jobs`;
    }));
  }

  /* Cells without a value, as closed outlines for one hatched trace a state. */
  function outlines(grid, wanted) {
    const x = [], y = [], xe = data.contended_edges, ye = data.sync_edges;
    grid.states.forEach((line, r) => line.forEach((cell, a) => {
      if (cell !== wanted) return;
      x.push(xe[a], xe[a + 1], xe[a + 1], xe[a], xe[a], null);
      y.push(ye[r], ye[r], ye[r + 1], ye[r + 1], ye[r], null);
    }));
    return {x, y};
  }

  function hatched(grid, wanted, shape) {
    const c = colours();
    return Object.assign(outlines(grid, wanted), {
      type: "scatter", mode: "lines", line: {color: c.soft, width: 1}, fill: "toself", hoverinfo: "skip",
      fillcolor: c.paper, fillpattern: {shape, fgcolor: c.soft, bgcolor: c.paper, size: 8, solidity: 0.25},
    });
  }

  function marks(grid) {
    const c = colours(), result = [];
    grid.states.forEach((line, r) => line.forEach((cell, a) => {
      if (cell === "measured") return;
      result.push({
        x: data.contended_ratios[a], y: data.sync_shares[r], showarrow: false, bgcolor: c.paper, borderpad: 1,
        text: cell === "undecided" ? "?" : "n.m.", font: {size: 11, color: c.ink}, captureevents: false,
      });
    }));
    return result;
  }

  function chosenShape() {
    const xe = data.contended_edges, ye = data.sync_edges, c = colours();
    const box = {type: "rect", x0: xe[state.alpha], x1: xe[state.alpha + 1], y0: ye[state.rho], y1: ye[state.rho + 1]};
    return [Object.assign({line: {color: c.paper, width: 5}}, box), Object.assign({line: {color: c.ink, width: 2.5}}, box)];
  }

  const ticks = (values) => {
    const step = Math.ceil(values.length / 11);
    const kept = values.filter((_, index) => index % step === 0);
    return {tickmode: "array", tickvals: kept, ticktext: kept.map(String)};
  };

  /* Numbers in the cells: dark on light cells, light on dark ones, with a halo against the lines. */
  function numbers(metric, grid, width) {
    const across = (width - 150) / data.contended_ratios.length;
    const size = Math.min(13, across / 3.3), x = [], y = [], text = [], ink = [], halo = [];
    grid.values.forEach((line, r) => line.forEach((value, a) => {
      if (value === null) return;
      const light = (value - metric.range[0]) / (metric.range[1] - metric.range[0]) > 0.6;
      const back = light ? "#ffffffc0" : "#000000c0";
      x.push(data.contended_ratios[a]); y.push(data.sync_shares[r]); text.push(plain(grid.texts[r][a]));
      ink.push(light ? "#101010" : "#ffffff"); halo.push(`0 0 5px ${back}, 0 0 3px ${back}, 0 0 2px ${back}`);
    }));
    return {type: "scatter", mode: size < 6.5 ? "none" : "text", x, y, text, hoverinfo: "skip", textfont: {size, color: ink, shadow: halo}};
  }

  function contours(metric, grid, line) {
    return {
      type: "contour", x: data.contended_ratios, y: data.sync_shares, z: grid.values, hoverinfo: "skip", showscale: false, autocontour: false,
      contours: contourLevels(metric), line, connectgaps: false, colorscale: [[0, line.color], [1, line.color]],
    };
  }

  function drawHeat() {
    const metric = data.metrics[state.metric], grid = gridOf(metric), c = colours();
    const big = data.sync_shares.length > 1 && data.contended_ratios.length > 1;
    const width = byId("heat").clientWidth;
    const traces = [{
      type: "heatmap", x: data.contended_edges, y: data.sync_edges, z: grid.values, zmin: metric.range[0], zmax: metric.range[1],
      colorscale: "Viridis", xgap: 1, ygap: 1, hovertext: hoverTexts(metric, grid), hoverinfo: "text",
      colorbar: {title: {text: plain(metric.axis), side: "right", font: {size: 12}}, thickness: width < 480 ? 10 : 14, outlinewidth: 0},
    }];
    if (big && metric.levels.length) {
      traces.push(contours(metric, grid, {color: "#000000", width: 3, smoothing: 0}), contours(metric, grid, {color: "#ffffff", width: 1.4, smoothing: 0}));
      traces[1].opacity = 0.35;
    }
    traces.push(hatched(grid, "undecided", "x"), hatched(grid, "not measured", "/"), numbers(metric, grid, width));
    const axis = {showgrid: false, zeroline: false, ticks: "outside", tickcolor: c.soft, fixedrange: true, automargin: true};
    const layout = frame({
      xaxis: Object.assign({title: {text: "contended ratio α"}, range: ends(data.contended_edges)}, axis, ticks(data.contended_ratios)),
      yaxis: Object.assign({title: {text: "synchronisation share ρ"}, range: ends(data.sync_edges)}, axis, ticks(data.sync_shares)),
      shapes: chosenShape(), annotations: marks(grid),
    });
    entitle("heat", `${metric.name}, M = ${state.cores}${factorWords()}`, `Heat map of ${metric.name} at M = ${state.cores}; the table of all points holds the numbers`);
    byId("heat-caption").textContent = `${capital(data.noise.text)}. A number is a ${origin()} point; hatched: n.m. is not measured, ? is undecided. ` +
      (metric.levels.length && big ? `White lines join points of equal value (${levelWords(metric)}); between points they are interpolated. ` : "") +
      (metric.from_below ? "≥ means: at least that, the end was not seen. " : metric.scale === 100 ? "< means: none seen, at most that. " : "") + "Choose a cell to see its task sets.";
    return draw("heat", traces, layout, `heat-${metric.id}-m${state.cores}${factorName()}`).then(listenToHeat);
  }
  const ends = (edges) => [edges[0], edges[edges.length - 1]];
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

  function contourLevels(metric) {
    const levels = metric.levels;
    const size = levels.length > 1 ? levels[1] - levels[0] : 1;
    const start = levels.length ? levels[0] : metric.range[1] + 1;
    return {coloring: "lines", start, end: levels.length ? levels[levels.length - 1] : start, size, showlabels: false};
  }
  function levelWords(metric) {
    const levels = metric.levels, unit = metric.scale === 100 ? " %" : "";
    if (levels.length === 1) return `at ${levels[0]}${unit}`;
    return `every ${Number((levels[1] - levels[0]).toPrecision(3))}${unit} from ${levels[0]}${unit}`;
  }

  function listenToHeat() {
    const node = byId("heat");
    if (node.dataset.listening || !node.on) return;
    node.dataset.listening = "yes";
    node.on("plotly_click", (event) => {
      const cell = event.points.find((item) => item.data.type === "heatmap");
      if (cell) choose(state.cores, cell.pointIndex[0], cell.pointIndex[1]);
    });
  }

  /* Straight lines between measured neighbours, along rho and along alpha. */
  function wires(grid) {
    const x = [], y = [], z = [];
    const put = (r, a) => {
      x.push(data.contended_ratios[a]); y.push(data.sync_shares[r]); z.push(grid.values[r][a]);
    };
    const cut = () => { x.push(null); y.push(null); z.push(null); };
    data.sync_shares.forEach((_, r) => { data.contended_ratios.forEach((__, a) => put(r, a)); cut(); });
    data.contended_ratios.forEach((_, a) => { data.sync_shares.forEach((__, r) => put(r, a)); cut(); });
    return {type: "scatter3d", mode: "lines", x, y, z, connectgaps: false, hoverinfo: "skip", line: {color: colours().soft, width: 1.5}};
  }

  function dots(metric, grid) {
    const x = [], y = [], z = [], hovertext = [], hover = hoverTexts(metric, grid);
    grid.values.forEach((line, r) => line.forEach((value, a) => {
      if (value === null) return;
      x.push(data.contended_ratios[a]); y.push(data.sync_shares[r]); z.push(value); hovertext.push(hover[r][a]);
    }));
    return {type: "scatter3d", mode: "markers", x, y, z, hovertext, hoverinfo: "text", marker: {size: 2.6, color: colours().ink}};
  }

  function drawSurface() {
    const metric = data.metrics[state.metric], grid = gridOf(metric), c = colours();
    const axis = (words) => ({color: c.ink, gridcolor: c.grid, zeroline: false, showbackground: false, title: {text: words, font: {size: 12}}});
    const traces = [{
      type: "surface", x: data.contended_ratios, y: data.sync_shares, z: grid.values, cmin: metric.range[0], cmax: metric.range[1], colorscale: "Viridis",
      showscale: false, connectgaps: false, hoverinfo: "skip", opacity: 0.94, lighting: {ambient: 0.85, diffuse: 0.35, specular: 0.03, roughness: 1},
      contours: {x: {highlight: false}, y: {highlight: false}, z: {highlight: false}},
    }, wires(grid), dots(metric, grid)];
    const height = metric.axis.replace(/ \(.*/, metric.scale === 100 ? " (%)" : "");
    const layout = frame({
      margin: {l: 0, r: 0, t: 0, b: 0}, uirevision: "turned",
      scene: {
        xaxis: axis("contended ratio α"), yaxis: axis("sync share ρ"),
        zaxis: Object.assign(axis(plain(height)), {range: metric.range, nticks: 6}),
        aspectmode: "manual", aspectratio: {x: 1, y: 1, z: 0.75}, camera: {eye: {x: -1.4, y: -1.45, z: 0.8}, center: {x: 0, y: 0, z: -0.1}},
      },
    });
    entitle("surface", `${metric.name}, M = ${state.cores}${factorWords()}`, `Surface of ${metric.name} over ρ and α at M = ${state.cores}`);
    byId("surface-caption").textContent = `${capital(data.noise.text)}. Dots are ${origin()} points; the surface between them is drawn straight, ` +
      "with holes where a point is missing. Drag to turn, scroll to zoom. The height has the same scale at every M.";
    if (!WEBGL) return refuse("surface", "The surface needs WebGL, which this browser does not offer. The heat map shows the same numbers; the folder figures/ has the surface as a picture.");
    return draw("surface", traces, layout, `surface-${metric.id}-m${state.cores}${factorName()}`);
  }

  /* ---------- distributions ---------- */

  let distributionOf = null;
  function findDistribution(m, rho, alpha, metric) {
    if (!distributionOf) {
      distributionOf = new Map(data.distributions.map((item) => [`${keyOf(item[0], item[1], item[2], item[7])}/${item[3]}`, item]));
    }
    const item = distributionOf.get(`${keyOf(m, rho, alpha)}/${metric}`);
    if (!item) return null;
    const edges = data.edges[item[4]].slice(item[5], item[5] + item[6].length + 1);
    return {edges, counts: item[6], total: item[6].reduce((sum, count) => sum + count, 0)};
  }

  function steps(found) {
    const x = [], y = [], n = found.counts.length;
    if (state.view === "histogram") {
      x.push(found.edges[0]); y.push(0);
      found.counts.forEach((count, i) => { x.push(found.edges[i], found.edges[i + 1]); y.push(100 * count / found.total, 100 * count / found.total); });
      x.push(found.edges[n]); y.push(0);
      return {x, y};
    }
    let below = 0;
    x.push(found.edges[0]); y.push(state.view === "cdf" ? 0 : 100);
    found.counts.forEach((count, i) => {
      below += count;
      const share = state.view === "cdf" ? below : found.total - below;
      x.push(found.edges[i + 1]); y.push(state.view === "tail" && share === 0 ? null : 100 * share / found.total);
    });
    return {x, y};
  }

  function spanAxis(found) {
    const low = Math.min(0.97, ...found.map((item) => item.edges[0]));
    const high = Math.max(1.03, ...found.map((item) => item.edges[item.edges.length - 1]));
    return Object.assign({type: "log", range: [Math.log10(low), Math.log10(high)]}, logTicks(low, high));
  }

  const SHARES = {histogram: "jobs per bin (%)", cdf: "jobs at or below (%)", tail: "jobs above (%)"};

  function drawDistribution() {
    const c = colours(), rho = data.sync_shares[state.rho], alpha = data.contended_ratios[state.alpha];
    const kind = DISTRIBUTIONS.find((item) => item[0] === state.distribution);
    const base = data.contended_ratios[0], traces = [];
    const own = findDistribution(state.cores, rho, alpha, kind[0]);
    const still = alpha === base ? null : findDistribution(state.cores, rho, base, kind[0]);
    const line = (name, found, look) => Object.assign({type: "scatter", mode: "lines", name}, look, steps(found));
    if (still) traces.push(line(`α = ${base}, same ρ`, still, {line: {color: c.soft, dash: "dash", width: 1.6}}));
    if (own) traces.push(line(`this point (α = ${alpha})`, own, Object.assign({line: {color: c.accent, width: 2}}, state.view === "histogram" ? {fill: "tozeroy"} : {})));
    const empty = {text: "No distribution stored for this point", x: 0.5, y: 0.5, xref: "paper", yref: "paper", showarrow: false, font: {size: 14, color: c.soft}};
    const layout = frame({
      margin: {l: 60, r: 10, t: 30, b: 52}, showlegend: traces.length > 1, legend: {orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom"},
      xaxis: Object.assign({title: {text: plain(byId("distribution").clientWidth < 480 ? `${kind[1]} of a job` : kind[2])}, gridcolor: c.grid, zeroline: false, automargin: true}, spanAxis([own, still].filter(Boolean))),
      yaxis: {title: {text: SHARES[state.view]}, type: state.view === "tail" ? "log" : "linear", rangemode: "tozero", gridcolor: c.grid, zeroline: false, automargin: true, tickformat: "~g"},
      annotations: own ? [] : [empty],
    });
    const words = `Distribution of the ${kind[1]} over jobs, ${pointWords(state.cores, rho, alpha)}`;
    entitle("distribution", words, words);
    byId("distribution-caption").textContent = `${capital(data.noise.text)}. ` + (own ? `${own.total.toLocaleString("en-GB")} jobs pooled over the task sets of the point` : "No jobs") +
      (still ? `; dashed: the same programs at α = ${base}.` : ".") + " Logarithmic axis; the width of a step is the width of a bin.";
    return draw("distribution", traces, layout, `distribution-${kind[0]}-${state.view}`);
  }

  /* ---------- one point ---------- */

  let setsOf = null;
  function setsAt(m, rho, alpha) {
    if (!setsOf) {
      setsOf = new Map();
      data.sets.forEach((item) => {
        const key = keyOf(item[0], item[1], item[2], item[3]);
        if (!setsOf.has(key)) setsOf.set(key, []);
        setsOf.get(key).push(item);
      });
    }
    return setsOf.get(keyOf(m, rho, alpha)) || [];
  }

  function describePoint() {
    const rho = data.sync_shares[state.rho], alpha = data.contended_ratios[state.alpha];
    const where = pointWords(state.cores, rho, alpha), row = rowOf.get(keyOf(state.cores, rho, alpha));
    const status = gridOf(data.metrics[0]).states[state.rho][state.alpha];
    if (!row || status === "not measured") return `${where}: not measured.`;
    if (status === "undecided") return `${where}: undecided, no run.`;
    return `${where}: ${data.metrics.map((metric) => `${metric.name.toLowerCase()} ${metricText(metric, row)}`).join("; ")}.`;
  }

  function fillSets() {
    const rho = data.sync_shares[state.rho], alpha = data.contended_ratios[state.alpha];
    byId("point-words").textContent = describePoint();
    const table = byId("sets-table"), head = make("tr");
    data.set_fields.forEach((item) => head.append(make("th", item.heading, {scope: "col", class: item.kind === "text" ? "text" : "number"})));
    table.tHead.replaceChildren(head);
    const lines = setsAt(state.cores, rho, alpha).map((item) => {
      const line = make("tr");
      data.set_fields.forEach((entry, index) =>
        line.append(make("td", show(item[index + 4], entry.kind), {class: entry.kind === "text" ? "text" : "number"})));
      return line;
    });
    if (!lines.length) {
      const line = make("tr");
      line.append(make("td", "No task set of this point was measured.", {colspan: Math.max(1, data.set_fields.length), class: "text"}));
      lines.push(line);
    }
    table.tBodies[0].replaceChildren(...lines);
  }

  function choose(cores, rho, alpha, factor = state.factor) {
    const otherGrid = cores !== state.cores || factor !== state.factor;
    Object.assign(state, {cores, rho, alpha, factor});
    byId("point-cores").value = cores; byId("point-rho").value = rho; byId("point-alpha").value = alpha;
    document.querySelectorAll("#choose-cores input").forEach((input) => { input.checked = Number(input.value) === cores; });
    document.querySelectorAll("#choose-factor input").forEach((input) => { input.checked = Number(input.value) === factor; });
    fillSets();
    markRow();
    drawHeat();
    drawDistribution();
    if (otherGrid) drawSurface();
  }

  /* ---------- all points ---------- */

  const COLUMNS = [
    ["M", "cores", "integer"], ["ρ", "sync_share", "text"], ["α", "contended_ratio", "text"], ...(several ? [["D/C", "deadline_factor", "text"]] : []), ["task sets", "task_sets", "integer"], ["jobs", "jobs", "integer"],
    ["slowdown", "slowdown_mean", "ratio", "slowdown_ci_low", "slowdown_ci_high"], ["slowdown p50", "slowdown_p50", "ratio"],
    ["deadline needed, 1 in 1000", "deadline_needed_p999", "multiple", "deadline_needed_p999_low", "deadline_needed_p999_high"],
    ["miss ratio", "deadline_miss_ratio", "percent", "deadline_miss_ci_low", "deadline_miss_ci_high"], ["miss episodes", "miss_episodes", "integer"],
    ["delay ratio", "delay_ratio_mean", "ratio", "delay_ratio_ci_low", "delay_ratio_ci_high"], ["delay p50", "delay_ratio_p50", "ratio"],
    ["delay p95", "delay_ratio_p95", "ratio"], ["delay max", "delay_ratio_max", "ratio"], ["response ratio", "response_ratio_mean", "ratio"], ["predicted (simulated)", "response_ratio_predicted", "ratio"],
    ["released", "released", "integer"], ["overruns", "overruns", "integer"],
    ["ρ real", "sync_share_real", "share"], ["α real", "contended_ratio_real", "share"], ["overlap", "overlap_real", "percent"],
  ];

  function headPoints() {
    const head = make("tr");
    head.append(make("th", "", {scope: "col"}));
    head.firstChild.append(make("span", "choose", {class: "hint"}));
    COLUMNS.forEach(([heading, name]) => {
      const cell = make("th", undefined, {scope: "col", "aria-sort": "none", "data-column": name});
      const button = make("button", heading, {type: "button"});
      button.addEventListener("click", () => sortBy(name));
      cell.append(button);
      head.append(cell);
    });
    byId("points-table").tHead.replaceChildren(head);
  }

  function sortBy(name) {
    const [first, direction] = state.sort[0];
    state.sort = [[name, first === name ? -direction : 1], ...state.sort.filter(([other]) => other !== name)].slice(0, 4);
    fillPoints();
  }

  // What is not measured sorts last in either direction.
  function compare(a, b) {
    for (const [name, direction] of state.sort) {
      const x = a[column[name]], y = b[column[name]];
      if (x === y) continue;
      if (x === null) return 1;
      if (y === null) return -1;
      return direction * (x < y ? -1 : 1);
    }
    return 0;
  }

  function pointLine(row) {
    const line = make("tr", undefined, {"data-key": rowKey(row)});
    const button = make("button", "show", {type: "button", "aria-label": `Show the task sets of M = ${row[0]}, ρ = ${row[1]}, α = ${row[2]}`});
    button.addEventListener("click", () => {
      choose(row[0], indexOf(data.sync_shares, row[1]), indexOf(data.contended_ratios, row[2]), row[column.deadline_factor]);
      byId("point").scrollIntoView();
    });
    const first = make("td");
    first.append(button);
    line.append(first);
    COLUMNS.forEach(([, name, kind, low, high]) => {
      const [value, interval] = valueTexts(row, name, kind, low, high);
      const cell = make("td", value);
      if (interval) cell.append(" ", make("span", interval, {class: "interval"}));
      line.append(cell);
    });
    return line;
  }
  const indexOf = (values, wanted) => values.findIndex((value) => Math.abs(value - wanted) < 5e-4);

  function fillPoints() {
    const chosen = data.rows.filter((row) => state.only === "all" || row[0] === Number(state.only)).sort(compare);
    const shown = chosen.slice(0, state.rows);
    byId("points-table").tBodies[0].replaceChildren(...shown.map(pointLine));
    document.querySelectorAll("#points-table th[data-column]").forEach((cell) => {
      const active = cell.dataset.column === state.sort[0][0];
      cell.setAttribute("aria-sort", !active ? "none" : state.sort[0][1] > 0 ? "ascending" : "descending");
    });
    byId("points-count").textContent = `${shown.length} of ${chosen.length} points shown`;
    byId("points-more").hidden = shown.length === chosen.length;
    markRow();
  }

  function markRow() {
    const key = keyOf(state.cores, data.sync_shares[state.rho], data.contended_ratios[state.alpha]);
    document.querySelectorAll("#points-table tbody tr").forEach((line) => {
      if (line.dataset.key === key) line.setAttribute("aria-selected", "true"); else line.removeAttribute("aria-selected");
    });
  }

  /* ---------- controls ---------- */

  function radios(id, choices, current, act) {
    const box = byId(id);
    choices.forEach(([value, words]) => {
      const label = make("label"), input = make("input", undefined, {type: "radio", name: id, value});
      input.checked = String(value) === String(current);
      input.addEventListener("change", () => act(value));
      label.append(input, make("span", words));
      box.append(label);
    });
  }
  function options(id, choices, current, act) {
    const box = byId(id);
    choices.forEach(([value, words]) => box.append(make("option", words, {value})));
    box.value = current;
    box.addEventListener("change", () => act(box.value));
  }

  function download() {
    const blob = new Blob([byId("deadbeat-data").textContent], {type: "application/json"});
    const link = make("a", "", {href: URL.createObjectURL(blob), download: "deadbeat-report.json"});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function connect() {
    const both = () => { drawHeat(); drawSurface(); };
    radios("choose-cores", data.cores.map((m) => [m, String(m)]), state.cores, (m) => choose(m, state.rho, state.alpha));
    byId("choose-factor").hidden = !several;
    radios("choose-factor", several ? data.factors.map((factor) => [factor, String(factor)]) : [], state.factor, (factor) => choose(state.cores, state.rho, state.alpha, factor));
    radios("choose-metric", data.metrics.map((metric, index) => [index, metric.name]), state.metric, (index) => { state.metric = index; both(); });
    radios("choose-distribution", DISTRIBUTIONS.map((item) => [item[0], item[1]]), state.distribution, (value) => { state.distribution = value; drawDistribution(); });
    radios("choose-view", VIEWS, state.view, (value) => { state.view = value; drawDistribution(); });
    options("point-cores", data.cores.map((m) => [m, m]), state.cores, (m) => choose(Number(m), state.rho, state.alpha));
    options("point-rho", data.sync_shares.map((value, index) => [index, value]), state.rho, (index) => choose(state.cores, Number(index), state.alpha));
    options("point-alpha", data.contended_ratios.map((value, index) => [index, value]), state.alpha, (index) => choose(state.cores, state.rho, Number(index)));
    options("points-cores", [["all", "all points"], ...data.cores.map((m) => [m, `M = ${m}`])], state.only, (only) => { Object.assign(state, {only, rows: ROWS_AT_ONCE}); fillPoints(); });
    byId("points-more").addEventListener("click", () => { state.rows = Infinity; fillPoints(); });
    byId("download").addEventListener("click", download);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
    // Plots carry their colours; on paper they take those of the print style.
    matchMedia("print").addEventListener("change", drawAll);
  }

  function drawAll() { drawHeat(); drawSurface(); drawDistribution(); }

  function start() {
    if (!data.rows.length) {
      ["heat", "surface", "distribution"].forEach((id) => byId(id).replaceChildren(make("p", "Nothing was measured yet.", {class: "failed"})));
      byId("points-count").textContent = "0 of 0 points shown";
      return;
    }
    // The last point in reading order is the one with the most contention.
    state.rho = data.sync_shares.length - 1;
    state.alpha = data.contended_ratios.length - 1;
    connect();
    headPoints();
    fillPoints();
    fillSets();
    drawAll();
  }
  start();
})();
