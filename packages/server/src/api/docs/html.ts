import type { Asset } from "../asset.ts";

/** Text that is HTML already. */
export interface Html {
  text: string;
}

type Value = string | number | Html | readonly Html[];

/** A template whose values are escaped, unless they are HTML themselves. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  return { text: String.raw({ raw: parts }, ...values.map(textOf)) };
}

function textOf(value: Value): string {
  if (Array.isArray(value)) return value.map(textOf).join("\n");
  if (typeof value === "object") return (value as Html).text;
  return escaped(String(value));
}

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] as string);
}

/** Text in which `backticks` mark code. */
export function marked(text: string): Html {
  // Every second part stood between backticks.
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
  /** Where in the documentation this page is. */
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
