import type { Assets } from "./assets.ts";
import { type Html, html, page } from "./html.ts";

/** Returns the page into which Swagger UI renders the API reference. */
export function referencePage(assets: Assets): Html {
  return page({
    title: "API reference · Outrider",
    address: "/docs",
    icon: assets.icon,
    // Our styles come last, because they override the renderer's styles.
    styles: [assets.rendererStyle, assets.pageStyle, assets.referenceStyle],
    scripts: [assets.rendererScript, assets.referenceScript],
    content: html`<main id="reference" data-document="${assets.referenceDocument.address}"></main>
<noscript>
<p>The reference requires JavaScript. The same content is in
<a href="/api/v1/openapi.json">openapi.json</a>, and the
<a href="/docs/errors">error codes</a> work without JavaScript.</p>
</noscript>`,
  });
}
