"use strict";
/* Zooms the Gantt chart along time. Elements carry the instants they stand for, counted from the
   window's start: data-a, and data-b where they have a length. */
(() => {
  const box = document.getElementById("gantt"), svg = box.querySelector("svg");
  const whole = Number(svg.dataset.length), left = Number(svg.dataset.left), right = 28;
  const start = BigInt(svg.dataset.start), NS = "http://www.w3.org/2000/svg";
  const items = [...svg.querySelectorAll("[data-a]")].map((node) => ({
    node, kind: node.tagName, a: Number(node.dataset.a),
    b: node.dataset.b === undefined ? null : Number(node.dataset.b),
    wide: Number(node.dataset.w || 0),
    y: (/translate\(\S+ (\S+)\)/.exec(node.getAttribute("transform") || "") || [])[1],
  }));
  const axis = svg.querySelector(".axis"), axisY = Number(axis.dataset.y);
  const stretched = [...svg.querySelectorAll("[data-stretch]")];
  const state = {low: 0, high: whole, width: 0, waiting: false};

  const words = (offset) => (start + BigInt(offset)).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const make = (tag, attributes, text) => {
    const node = document.createElementNS(NS, tag);
    Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    if (text !== undefined) node.textContent = text;
    return node;
  };

  function place(item, x) {
    const {node, kind, a, b} = item, from = x(a), to = b === null ? from : x(b);
    const off = to < left - 8 || from > left + state.width + 8;
    node.style.display = off ? "none" : "";
    if (off) return;
    // Far outside, coordinates lose their precision; nothing is seen there anyway.
    const low = Math.max(from, left - 50), high = Math.min(to, left + state.width + 50);
    if (kind === "rect") { node.setAttribute("x", low); node.setAttribute("width", Math.max(0, high - low)); }
    else if (kind === "line") { node.setAttribute("x1", low); node.setAttribute("x2", high); }
    else if (kind === "path") node.setAttribute("transform", `translate(${from.toFixed(2)} ${item.y})`);
    else if (b === null) {
      node.setAttribute("x", from);
      node.setAttribute("text-anchor", from > left + state.width / 2 ? "end" : "start");
    } else {
      const shownFrom = Math.max(from, left), shownTo = Math.min(to, left + state.width);
      node.setAttribute("x", (shownFrom + shownTo) / 2);
      node.setAttribute("visibility", shownTo - shownFrom < item.wide ? "hidden" : "visible");
    }
  }

  function drawAxis(x) {
    const span = state.high - state.low, label = words(Math.floor(state.high)).length * 6.6 + 26;
    const least = Math.max(1, span / Math.max(2, Math.floor(state.width / label)));
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= least * 0.999999);
    const nodes = [make("line", {x1: left, x2: left + state.width, y1: axisY, y2: axisY, stroke: "#1d2126"})];
    // Ticks lie at round instants, not at round distances from the window's start.
    const skew = Number(start % BigInt(step)), first = Math.ceil((state.low + skew) / step) * step - skew;
    for (let at = first; at <= state.high; at += step) {
      nodes.push(make("line", {x1: x(at), x2: x(at), y1: axisY, y2: axisY + 5, stroke: "#1d2126"}));
      nodes.push(make("text", {x: x(at), y: axisY + 18, "text-anchor": "middle", "font-size": 11}, words(at)));
    }
    axis.replaceChildren(...nodes);
  }

  function draw() {
    state.waiting = false;
    state.width = Math.max(300, box.clientWidth - left - right);
    const total = left + state.width + right, height = svg.viewBox.baseVal.height;
    svg.setAttribute("width", total);
    svg.setAttribute("viewBox", `0 0 ${total} ${height}`);
    const x = (offset) => left + (offset - state.low) / (state.high - state.low) * state.width;
    stretched.forEach((node) => node.setAttribute(node.tagName === "line" ? "x2" : "width",
      (node.tagName === "line" ? left : 0) + state.width + Number(node.dataset.stretch)));
    items.forEach((item) => place(item, x));
    drawAxis(x);
    document.getElementById("zoom-range").textContent =
      `shown: ${words(Math.floor(state.low))} to ${words(Math.ceil(state.high))}`;
    box.dataset.drawn = `${Math.floor(state.low)} ${Math.ceil(state.high)}`;
  }
  const later = () => { if (!state.waiting) { state.waiting = true; requestAnimationFrame(draw); } };

  function show(low, high) {
    const length = Math.min(whole, Math.max(Math.min(4, whole), high - low));
    state.low = Math.min(Math.max(0, low), whole - length);
    state.high = state.low + length;
    later();
  }
  function zoom(factor, centre) {
    const length = (state.high - state.low) * factor, share = (centre - state.low) / (state.high - state.low);
    show(centre - share * length, centre + (1 - share) * length);
  }
  const middle = () => (state.low + state.high) / 2;
  const at = (event) => {
    const x = event.clientX - box.getBoundingClientRect().left - left;
    return state.low + Math.min(1, Math.max(0, x / state.width)) * (state.high - state.low);
  };
  const move = (share) => { const by = (state.high - state.low) * share; show(state.low + by, state.high + by); };

  box.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / state.width);
    else zoom(event.deltaY < 0 ? 0.8 : 1.25, at(event));
  }, {passive: false});
  let held = null;
  box.addEventListener("pointerdown", (event) => {
    held = {x: event.clientX, low: state.low, high: state.high};
    box.setPointerCapture(event.pointerId);
    box.classList.add("moving");
  });
  box.addEventListener("pointermove", (event) => {
    if (!held) return;
    const by = (held.x - event.clientX) / state.width * (held.high - held.low);
    show(held.low + by, held.high + by);
  });
  const release = () => { held = null; box.classList.remove("moving"); };
  box.addEventListener("pointerup", release);
  box.addEventListener("pointercancel", release);
  box.addEventListener("dblclick", () => show(0, whole));
  box.addEventListener("keydown", (event) => {
    const act = {"+": () => zoom(0.5, middle()), "-": () => zoom(2, middle()), ArrowLeft: () => move(-0.25),
      ArrowRight: () => move(0.25), 0: () => show(0, whole)}[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  const on = (id, act) => document.getElementById(id).addEventListener("click", act);
  on("zoom-in", () => zoom(0.5, middle()));
  on("zoom-out", () => zoom(2, middle()));
  on("zoom-left", () => move(-0.25));
  on("zoom-right", () => move(0.25));
  on("zoom-reset", () => show(0, whole));
  addEventListener("resize", later);
  document.getElementById("zoom-controls").hidden = false;
  box.classList.add("live");
  draw();
})();
