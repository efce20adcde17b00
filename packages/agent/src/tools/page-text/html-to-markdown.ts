import TurndownService from "turndown";

/** A page to convert. Its links are relative to the URL. */
export interface Page {
  html: string;
  url: string;
}

/** Elements without text for readers. */
const invisible = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "iframe",
  "object",
  "canvas",
  "svg",
  "title",
  "head",
]);

/** Converts a page to Markdown. It can take long or overflow the stack, so it runs in a thread (see page-text.ts). */
export function htmlToMarkdown({ html, url }: Page): string {
  const service = new TurndownService({
    headingStyle: "atx",
    codeBlockStyle: "fenced",
    bulletListMarker: "-",
  });
  service.remove((node) => invisible.has(node.nodeName.toLowerCase()));
  service.addRule("links", {
    filter: (node) => node.nodeName === "A" && node.getAttribute("href") !== null,
    replacement: (content, node) => {
      const text = content.replaceAll(/\s+/g, " ").trim();
      const target = absolute((node as unknown as Element).getAttribute("href") ?? "", url);
      return text === "" || target === undefined ? text : `[${text}](${target})`;
    },
  });
  service.addRule("images", {
    filter: "img",
    replacement: (_, node) => {
      const alt = ((node as unknown as Element).getAttribute("alt") ?? "").replaceAll(/\s+/g, " ").trim();
      return alt === "" ? "" : `[image: ${alt}]`;
    },
  });
  const [, title = ""] = /<title[^>]{0,200}>([^<]{1,500})/i.exec(html.slice(0, 100_000)) ?? [];
  const markdown = service
    .turndown(html)
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
  const heading = title.replaceAll(/\s+/g, " ").trim();
  return heading === "" || markdown.startsWith("# ") ? markdown : `# ${heading}\n\n${markdown}`;
}

/** Returns a link's target. Links that a reader of the text cannot use are left out. */
function absolute(href: string, base: string): string | undefined {
  if (href.startsWith("#") || !URL.canParse(href, base)) return undefined;
  const { protocol, href: target } = new URL(href, base);
  return ["http:", "https:", "mailto:"].includes(protocol) && target.length <= 2_000 ? target : undefined;
}

interface Element {
  getAttribute(name: string): string | null;
}
