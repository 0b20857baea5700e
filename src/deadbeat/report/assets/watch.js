// Follows a result that is still measured: asks for its state, and reloads the page after each new run.
(() => {
  const EVERY_MS = 5000, PLACE = "deadbeat-scroll";
  const bar = document.createElement("p");
  bar.id = "watched";
  bar.setAttribute("role", "status");
  bar.style.cssText = "position:sticky;top:0;margin:0;padding:.3rem 1rem;background:Canvas;z-index:9";
  document.body.prepend(bar);
  window.scrollTo(0, Number(sessionStorage.getItem(PLACE) || 0));
  let seen = null;
  const ask = async () => {
    try {
      const state = await (await fetch("state", {cache: "no-store"})).json();
      bar.textContent = state.text;
      if (seen !== null && state.version !== seen) {
        sessionStorage.setItem(PLACE, String(window.scrollY));
        location.reload();
      }
      seen = state.version;
    } catch (error) {
      bar.textContent = "deadbeat page --follow has ended: this is the page as it was";
    }
  };
  ask();
  setInterval(ask, EVERY_MS);
})();
