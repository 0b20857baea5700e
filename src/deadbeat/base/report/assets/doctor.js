"use strict";
// Chooses what of the checks is shown; without scripts everything is.
(() => {
  const shown = { fail: ["fail"], open: ["fail", "unknown"], all: ["fail", "unknown", "pass"] };
  const apply = (choice) => {
    for (const item of document.querySelectorAll(".results > li")) {
      item.hidden = !shown[choice].some((status) => item.classList.contains(status));
    }
    for (const family of document.querySelectorAll(".family")) {
      const items = [...family.querySelectorAll(".results > li")];
      family.querySelector(".nothing").hidden = items.some((item) => !item.hidden);
    }
  };
  for (const input of document.querySelectorAll("input[name=show]")) {
    input.addEventListener("change", () => apply(input.value));
    if (input.checked) apply(input.value);
  }
})();
