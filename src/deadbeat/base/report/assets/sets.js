"use strict";
/* The table of task sets: sorted by its headings, narrowed to one group. */
(function () {
  const data = JSON.parse(document.getElementById("deadbeat-data").textContent);
  const table = document.getElementById("sets-table"), box = document.getElementById("sets-group");
  const state = {sort: data.sort, direction: -1, only: "all"};

  const {make, show} = deadbeatWords;

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
