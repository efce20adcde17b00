import { type ErrorCode, errorTable } from "@outrider/contract/errors/error";
import type { FastifyInstance, FastifyReply } from "fastify";
import { pathOf } from "../http/request.ts";
import { immutableHeaders, sendAsset } from "./asset.ts";
import { loadAssets } from "./docs/assets.ts";
import { errorIndexPage, errorPage } from "./docs/error-pages.ts";
import type { Html } from "./docs/html.ts";
import { referenceDocument } from "./docs/reference-document.ts";
import { referencePage } from "./docs/reference-page.ts";

/** Users may enter an API key in the reference, so no third-party code may run there. */
const strictPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];
const referencePolicy = [...strictPolicy, "script-src 'self'", "font-src 'self'", "connect-src 'self'"];

const route = { config: { operation: "docs" } };

/** Registers the API reference at /docs and a page for each error code. All files come from this server. */
export function registerDocs(app: FastifyInstance, { openapi }: { openapi: () => string }): void {
  const assets = loadAssets(referenceDocument(openapi()));
  const assetsByAddress = new Map(Object.values(assets).map((asset) => [asset.address, asset]));
  const reference = referencePage(assets);
  const index = errorIndexPage(assets);

  app.get("/docs", route, async (_request, reply) => sendPage(reply, reference, referencePolicy));

  app.get("/docs/errors", route, async (_request, reply) => sendPage(reply, index, strictPolicy));

  app.get<{ Params: { code: string } }>("/docs/errors/:code", route, async (request, reply) => {
    const { code } = request.params;
    if (!isErrorCode(code)) return reply.callNotFound();
    return sendPage(reply, errorPage(code, assets), strictPolicy);
  });

  app.get("/docs/assets/:version/:name", route, async (request, reply) => {
    const asset = assetsByAddress.get(pathOf(request));
    if (!asset) return reply.callNotFound();
    return sendAsset(request, reply, { asset, headers: immutableHeaders });
  });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

function sendPage(reply: FastifyReply, page: Html, policy: string[]) {
  return reply
    .headers({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      // The page refers to assets whose paths change with their content, so it must not be cached itself.
      "cache-control": "no-cache",
    })
    .send(page.text);
}
