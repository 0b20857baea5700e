"use strict";
/* The table of task sets: sorted by its headings, narrowed to one group. */
(function () {
  const data = JSON.parse(document.getElementById("deadbeat-data").textContent);
  const table = document.getElementById("sets-table"), box = document.getElementById("sets-group");
  const state = {sort: data.sort, direction: -1, only: "all"};

  function significant(value, digits) {
    if (value === 0) return "0";
    const decimals = Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
    return value.toFixed(decimals);
  }
  const FORMATS = {
    integer: (value) => typeof value === "number" ? value.toLocaleString("en-GB") : String(value),
    identifier: (value) => String(value),
    ratio: (value) => value.toFixed(3),
    share: (value) => value.toFixed(3),
    percent: (value) => significant(100 * value, 2) + " %",
    text: (value) => String(value),
  };
  const show = (value, kind) => value === null ? "–" : FORMATS[kind](value);

  function make(tag, text, attributes) {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    Object.entries(attributes || {}).forEach(([name, value]) => node.setAttribute(name, value));
    return node;
  }

  // What is not measured sorts last in either direction.
  function compare(a, b) {
    const x = a[state.sort], y = b[state.sort];
    if (x === y) return 0;
    if (x === null) return 1;
    if (y === null) return -1;
    return state.direction * (x < y ? -1 : 1);
  }

  function fill() {
    const chosen = data.sets.filter((item) => state.only === "all" || item[data.group] === state.only).sort(compare);
    table.tBodies[0].replaceChildren(...chosen.map((item) => {
      const line = make("tr");
      data.fields.forEach((field, k) => line.append(make("td", show(item[k], field.kind), field.kind === "text" && k ? {class: "text"} : {})));
      return line;
    }));
    table.querySelectorAll("th").forEach((cell, k) =>
      cell.setAttribute("aria-sort", k !== state.sort ? "none" : state.direction > 0 ? "ascending" : "descending"));
    document.getElementById("sets-count").textContent = `${chosen.length} of ${data.total.toLocaleString("en-GB")} task sets shown`;
  }

  const head = make("tr");
  data.fields.forEach((field, k) => {
    const cell = make("th", undefined, {scope: "col", "aria-sort": "none", class: field.kind === "text" ? "text" : "number"});
    const button = make("button", field.heading, {type: "button"});
    button.addEventListener("click", () => {
      Object.assign(state, {sort: k, direction: state.sort === k ? -state.direction : -1});
      fill();
    });
    cell.append(button);
    head.append(cell);
  });
  table.tHead.replaceChildren(head);
  ["all", ...data.groups].forEach((name) => box.append(make("option", name === "all" ? "all groups" : name, {value: name})));
  box.addEventListener("change", () => { state.only = box.value; fill(); });
  fill();
})();
