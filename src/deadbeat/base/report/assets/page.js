"use strict";
(function () {
  const data = JSON.parse(document.getElementById("deadbeat-data").textContent);
  const byId = (id) => document.getElementById(id);
  const ROWS_AT_ONCE = 300;
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
    [m, ...[rho, alpha, factor].map((value) => Math.round(value * 1000))].join("/");
  const rowKey = (row) => keyOf(row[0], row[1], row[2], row[column.deadline_factor]);
  const last = (list) => list[list.length - 1];
  const state = { // The last point in reading order is the one with the most contention.
    cores: last(data.cores), rho: data.sync_shares.length - 1, alpha: data.contended_ratios.length - 1, factor: data.factors[0],
    distribution: "slowdown", view: "histogram",
    sort: [["cores", 1], ["sync_share", 1], ["contended_ratio", 1]], only: "all", rows: ROWS_AT_ONCE,
  };

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
    const least = row[column[name.replace("_mean", "_bound")]];
    if (value === null && name.endsWith("_mean") && least !== undefined && least !== null) return [`≥ ${show(least, kind)}`, ""];
    const one = low && row[column[`${name.replace("_mean", "")}_ci_basis`]] === "rounds" && ends[0] !== null ? " one set" : "";
    return [show(value, kind), value === null ? "" : between(ends[0], ends[1], kind) + one];
  }
  const stamp = () => data.labels.length ? ` — ${data.labels.join(", ")}` : "";
  const pointWords = (m, rho, alpha) => `M = ${m}, ρ = ${rho}, α = ${alpha}` + (several ? `, D/C = ${state.factor}` : "");
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

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

  /* x and y of a curve: level within a bin, or the share of jobs at the edges of the bins. */
  function shares(found) {
    const percent = (count) => 100 * count / found.total;
    if (state.view === "histogram") return {kind: "steps", x: found.edges, y: [...found.counts.map(percent), 0]};
    let below = 0;
    const y = [0, ...found.counts.map((count) => percent(below += count))];
    // Of few jobs every step shows; a line between bins would promise more.
    return {kind: found.total < 300 ? "steps" : "plain", x: found.edges, y: state.view === "cdf" ? y : y.map((share) => share >= 100 ? null : 100 - share)};
  }

  const SHARES = {histogram: "jobs per bin (%)", cdf: "jobs at or below (%)", tail: "jobs above (%)"};

  function drawDistribution() {
    const rho = data.sync_shares[state.rho], alpha = data.contended_ratios[state.alpha], base = data.contended_ratios[0];
    const kind = DISTRIBUTIONS.find((item) => item[0] === state.distribution);
    const own = findDistribution(state.cores, rho, alpha, kind[0]);
    const still = alpha === base ? null : findDistribution(state.cores, rho, base, kind[0]);
    const curves = [], jobsOf = (found) => `n = ${found.total.toLocaleString("en-GB")}`;
    if (own) curves.push(Object.assign({label: `this point (α = ${alpha}), ${jobsOf(own)}`, look: 0}, shares(own)));
    if (own && still) curves.push(Object.assign({label: `α = ${base}, same ρ, ${jobsOf(still)}`, look: 1}, shares(still)));
    const edges = [own, still].filter(Boolean).flatMap((item) => [item.edges[0], last(item.edges)]);
    const narrow = byId("distribution").clientWidth < 480;
    const words = `Distribution of the ${kind[1]} over jobs, ${pointWords(state.cores, rho, alpha)}`;
    byId("distribution-title").textContent = words + stamp();
    byId("distribution-caption").textContent = `${capital(data.noise.text)}. ` + (own ? `${own.total.toLocaleString("en-GB")} jobs pooled over the task sets of the point` : "No jobs") +
      (still ? `; dashed: the same programs at α = ${base}.` : ".") + " Logarithmic axis; the width of a step is the width of a bin.";
    deadbeatCharts.show("distribution", {
      name: `distribution-${kind[0]}-${state.view}`, curves, x_label: narrow ? `${kind[1]} of a job` : kind[2], y_label: SHARES[state.view], x_log: true, y_log: state.view === "tail",
      x_span: [Math.min(0.97, ...edges), Math.max(1.03, ...edges)], y_span: [90 / Math.max(1, own ? own.total : 1), 110], blank: !own, empty: "No distribution stored for this point",
    });
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
    return `${pointWords(state.cores, rho, alpha)}: ${data.points[keyOf(state.cores, rho, alpha)] || "not measured"}.`;
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
    byId("sets-absent").textContent = data.absent[keyOf(state.cores, data.sync_shares[state.rho], data.contended_ratios[state.alpha])] || "";
  }

  function choose(cores, rho, alpha, factor = state.factor) {
    Object.assign(state, {cores, rho, alpha, factor});
    [["cores", cores], ["rho", rho], ["alpha", alpha], ["factor", factor]].forEach(([name, value]) => { byId(`point-${name}`).value = value; });
    fillSets();
    markRow();
    drawDistribution();
    const detail = keyOf(cores, data.sync_shares[rho], data.contended_ratios[alpha]);
    document.dispatchEvent(new CustomEvent("deadbeat-cell", {detail}));
  }

  /* A cell of a heat map was chosen: its key is that of a point. */
  document.addEventListener("deadbeat-cell", (event) => {
    const [m, ...axes] = event.detail.split("/").map(Number), [rho, alpha, factor] = axes.map((value) => value / 1000);
    const at = [m, indexOf(data.sync_shares, rho), indexOf(data.contended_ratios, alpha), factor];
    if (String(at) !== String([state.cores, state.rho, state.alpha, state.factor])) choose(...at);
  });

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
    radios("choose-distribution", DISTRIBUTIONS.map((item) => [item[0], item[1]]), state.distribution, (value) => { state.distribution = value; drawDistribution(); });
    radios("choose-view", VIEWS, state.view, (value) => { state.view = value; drawDistribution(); });
    options("point-cores", data.cores.map((m) => [m, m]), state.cores, (m) => choose(Number(m), state.rho, state.alpha));
    options("point-rho", data.sync_shares.map((value, index) => [index, value]), state.rho, (index) => choose(state.cores, Number(index), state.alpha));
    options("point-alpha", data.contended_ratios.map((value, index) => [index, value]), state.alpha, (index) => choose(state.cores, state.rho, Number(index)));
    byId("point-factor-label").style.display = several ? "" : "none";
    options("point-factor", data.factors.map((value) => [value, value]), state.factor, (factor) => choose(state.cores, state.rho, state.alpha, Number(factor)));
    options("points-cores", [["all", "all points"], ...data.cores.map((m) => [m, `M = ${m}`])], state.only, (only) => { Object.assign(state, {only, rows: ROWS_AT_ONCE}); fillPoints(); });
    byId("points-more").addEventListener("click", () => { state.rows = Infinity; fillPoints(); });
    byId("download").addEventListener("click", download);
  }

  function start() {
    if (!data.rows.length) {
      byId("distribution").replaceChildren(make("p", "Nothing was measured yet.", {class: "failed"}));
      byId("points-count").textContent = "0 of 0 points shown";
      return;
    }
    connect();
    headPoints();
    fillPoints();
    choose(state.cores, state.rho, state.alpha);
  }
  start();
})();
