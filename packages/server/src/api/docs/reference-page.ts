import type { Assets } from "./assets.ts";
import { type Html, html, page } from "./html.ts";

/** The frame in which the renderer draws the reference. */
export function referencePage(assets: Assets): Html {
  return page({
    title: "API reference · Outrider",
    address: "/docs",
    icon: assets.icon,
    // Ours come last: they correct the renderer's.
    styles: [assets.rendererStyle, assets.pageStyle, assets.referenceStyle],
    scripts: [assets.rendererScript, assets.referenceScript],
    content: html`<main id="reference" data-document="${assets.referenceDocument.address}"></main>
<noscript>
<p>The reference is drawn by a script, which this browser does not run.
Everything in it is in <a href="/api/v1/openapi.json">openapi.json</a>;
the <a href="/docs/errors">error codes</a> need no script.</p>
</noscript>`,
  });
}
