"use strict";
/* Values as texts, and elements: what the scripts of the pages share. */
const deadbeatWords = (function () {
  function significant(value, digits) {
    if (value === 0) return "0";
    const decimals = Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
    return value.toFixed(decimals);
  }
  const FORMATS = {
    integer: (value) => typeof value === "number" ? value.toLocaleString("en-GB") : String(value),
    identifier: (value) => String(value),
    ratio: (value) => value.toFixed(3),
    multiple: (value) => value >= 100 ? Math.round(value).toLocaleString("en-GB") : String(Number(value.toPrecision(3))),
    share: (value) => value.toFixed(3),
    percent: (value) => significant(100 * value, 2) + " %",
    text: (value) => String(value),
  };
  const show = (value, kind) => (value === null || value === undefined) ? "–" : FORMATS[kind](value);

  function make(tag, text, attributes) {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    Object.entries(attributes || {}).forEach(([name, value]) => node.setAttribute(name, value));
    return node;
  }
  return {make, show};
})();
