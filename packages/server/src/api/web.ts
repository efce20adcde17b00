import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Asset, asset, forGood, sendAsset } from "./asset.ts";

const folder = fileURLToPath(new URL("../../../web/dist/", import.meta.url));

/** Where the app has pages; which one it shows is its own business. /runs/{id} and /shared/{token} answer more than pages. */
const pages = [
  ...["/", "/login", "/welcome", "/runs", "/environments", "/environments/:id", "/skills", "/agents"],
  ...["/secrets", "/keys", "/workers", "/settings"],
];

/** Only our own files, and nothing inline: what an agent wrote stays text even if a page had a hole. */
const headersOfPage = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  // The addresses of its files change with their content, so the page must not be older than they are.
  "cache-control": "no-cache",
};

const route = { config: { operation: "web" } };

/** The web app: its files, and the document that all its pages are. */
export interface Web {
  files: Asset[];
  index: Asset;
}

/** Read before anything is started: without it a server does not start, and has begun nothing. */
export function loadWeb(): Web {
  const names = globSync("**/*.*", { cwd: folder });
  const files = names.map((name) => asset(`/${name}`, readFileSync(folder + name)));
  const index = files.find(({ address }) => address === "/index.html");
  if (!index) throw new Error("The web app is not built. `make run` does it, or `scripts/setup`.");
  return { files, index };
}

export function registerWeb(app: FastifyInstance, { files, index }: Web) {
  for (const file of files) {
    // What the build names by its content may be kept; the rest keeps its name.
    const headers = file.address.startsWith("/assets/") ? forGood : { "cache-control": "no-cache" };
    if (file === index) continue;
    app.get(file.address, route, (request, reply) => sendAsset(request, reply, { asset: file, headers }));
  }
  app.decorate("sendPage", (request: FastifyRequest, reply: FastifyReply) =>
    sendAsset(request, reply, { asset: index, headers: headersOfPage }),
  );
  for (const page of pages) app.get(page, route, (request, reply) => app.sendPage(request, reply));
}

declare module "fastify" {
  interface FastifyInstance {
    /** Answers with the web app, which then shows the page of this address. */
    sendPage(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  }
}

/** A browser that opens an address, as opposed to a program that reads it. */
export function wantsPage(request: FastifyRequest): boolean {
  const { accept = "", authorization } = request.headers;
  return authorization === undefined && /^\s*text\/html\s*(;|,|$)/i.test(accept);
}
