import type { Asset } from "../asset.ts";

/** A string that is already HTML. */
export interface Html {
  text: string;
}

type Value = string | number | Html | readonly Html[];

/** A template tag that escapes its values, except for values that are already HTML. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  return { text: String.raw({ raw: parts }, ...values.map(textOf)) };
}

function textOf(value: Value): string {
  if (Array.isArray(value)) return value.map(textOf).join("\n");
  if (typeof value === "object") return (value as Html).text;
  return escapeHtml(String(value));
}

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] as string);
}

/** Converts text to HTML. Text between backticks becomes code. */
export function markCode(text: string): Html {
  // Parts with an odd index were between backticks.
  const parts = text
    .split("`")
    .map((part, index) => (index % 2 ? html`<code>${part}</code>` : html`${part}`));
  return { text: parts.map((part) => part.text).join("") };
}

const sections = [
  { address: "/docs", name: "Reference" },
  { address: "/docs/errors", name: "Error codes" },
  { address: "/api/v1/openapi.json", name: "openapi.json" },
];

interface PageOptions {
  title: string;
  /** The page's path, which is highlighted in the navigation. */
  address: string;
  icon: Asset;
  styles: Asset[];
  scripts?: Asset[];
  content: Html;
}

export function page({ title, address, icon, styles, scripts = [], content }: PageOptions): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${icon.address}">
${styles.map((style) => html`<link rel="stylesheet" href="${style.address}">`)}
${scripts.map((script) => html`<script defer src="${script.address}"></script>`)}
</head>
<body>
<header class="site">
<strong>Outrider</strong>
<nav aria-label="Documentation">
${sections.map((section) => sectionLink(section, address))}
</nav>
</header>
${content}
</body>
</html>
`;
}

function sectionLink(section: { address: string; name: string }, current: string): Html {
  const mark = section.address === current ? html` aria-current="page"` : html``;
  return html`<a href="${section.address}"${mark}>${section.name}</a>`;
}
