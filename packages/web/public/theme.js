// Sets the theme before the first paint, so that a dark theme does not flash white. This is a separate file because the
// content security policy forbids inline scripts.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("outrider.theme");
  } catch {
    // Where storage is disabled, the system preference applies.
  }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
