const place = document.getElementById("reference");

// The renderer has a dark theme, but only behind a class.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

window.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  deepLinking: true,
  filter: true,
  displayRequestDuration: true,
  // The default theme's red is too dark to read.
  syntaxHighlight: { theme: "obsidian" },
  // A key is forgotten with the page: whoever reads the browser's storage must not find one.
  persistAuthorization: false,
});
