const container = document.getElementById("reference");

// The renderer enables its dark theme only if this class is set.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

window.SwaggerUIBundle({
  domNode: container,
  url: container.dataset.document,
  deepLinking: true,
  filter: true,
  displayRequestDuration: true,
  // The default theme's red is too dark to read.
  syntaxHighlight: { theme: "obsidian" },
  // The browser must not store API keys.
  persistAuthorization: false,
});
