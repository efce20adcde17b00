// Before the first paint, so that nobody in the dark sees a white flash. A file of its own: no inline script is allowed.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("outrider.theme");
  } catch {
    // Storage may be switched off; the system's choice is fine then.
  }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
