import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Asset, createAsset, immutableHeaders, sendAsset } from "./asset.ts";

const folder = fileURLToPath(new URL("../../../../web/dist/", import.meta.url));

/** Paths that serve only the web app, which has its own router. /runs/{id} and /shared/{token} also serve programs. */
const pages = [
  ...[
    "/",
    "/login",
    "/welcome",
    "/runs",
    "/insights",
    "/environments",
    "/environments/:id",
    "/skills",
    "/templates",
    "/agents",
  ],
  ...["/secrets", "/keys", "/workers", "/settings", "/settings/forges", "/settings/forges/github-app"],
];

/** The only page that submits a form elsewhere: GitHub creates an app from a form that the browser sends. */
const newAppPage = "/settings/forges/github-app/new";

/** Allows only our own files and no inline code, so that markup injected by an agent cannot run. */
const contentSecurityPolicy = (formAction = "") =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    `form-action 'self'${formAction && ` ${formAction}`}`,
    "frame-ancestors 'none'",
  ].join("; ");

const pageHeaders = {
  "content-security-policy": contentSecurityPolicy(),
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  // The page refers to files whose paths change with their content, so it must not be cached itself.
  "cache-control": "no-cache",
};

/** A script that runs as a worker has its own policy. It may import the app's other scripts. */
const scriptHeaders = {
  "content-security-policy": "default-src 'none'; script-src 'self'; frame-ancestors 'none'",
};

const route = { config: { operation: "web" } };

/** The web app's files. `index` is the HTML document for every page. */
export interface Web {
  files: Asset[];
  index: Asset;
}

/** Reads the web app. Called first, so that a missing web app is detected before anything starts. */
export function loadWeb(): Web {
  const names = globSync("**/*.*", { cwd: folder });
  const files = names.map((name) => createAsset(`/${name}`, readFileSync(folder + name)));
  const index = files.find(({ address }) => address === "/index.html");
  if (!index) throw new Error("The web app is not built. Run `make run` or `scripts/setup`.");
  return { files, index };
}

export function registerWeb(app: FastifyInstance, { files, index }: Web) {
  for (const file of files) {
    // The build puts files with a hash in their name into /assets/. Other files can change without being renamed.
    const caching = file.address.startsWith("/assets/") ? immutableHeaders : { "cache-control": "no-cache" };
    const headers = file.address.endsWith(".js") ? { ...caching, ...scriptHeaders } : caching;
    if (file === index) continue;
    app.get(file.address, route, (request, reply) => sendAsset(request, reply, { asset: file, headers }));
  }
  app.decorate("sendPage", (request: FastifyRequest, reply: FastifyReply) =>
    sendAsset(request, reply, { asset: index, headers: pageHeaders }),
  );
  app.get<{ Querystring: { host?: string | string[] } }>(newAppPage, route, (request, reply) => {
    const headers = {
      ...pageHeaders,
      "content-security-policy": contentSecurityPolicy(originOf(request.query.host)),
    };
    return sendAsset(request, reply, { asset: index, headers });
  });
  for (const page of pages) app.get(page, route, (request, reply) => app.sendPage(request, reply));
}

/** Returns the origin of the forge that the page's query names, by host or URL. Returns nothing if it is invalid. */
function originOf(host: unknown = "github.com"): string {
  const url =
    typeof host === "string" ? URL.parse(/^https?:\/\//i.test(host) ? host : `https://${host}`) : null;
  // A hostname of other characters could add a source or a directive to the policy.
  return url && /^https?:$/.test(url.protocol) && /^[a-z0-9.-]+$|^\[[0-9a-f:]+\]$/i.test(url.hostname)
    ? url.origin
    : "";
}

declare module "fastify" {
  interface FastifyInstance {
    /** Sends the web app, which shows the page for the requested path. */
    sendPage(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  }
}

/** Returns whether a browser opens a page that does not exist. The web app explains that, and leads back. */
export function isMissingPage(request: FastifyRequest): boolean {
  return (
    /^(GET|HEAD)$/.test(request.method) && !/^\/(api|assets)(\/|$)/.test(request.url) && wantsPage(request)
  );
}

/** Returns whether the request comes from a browser that opens a page, as opposed to a program. */
export function wantsPage(request: FastifyRequest): boolean {
  const { accept = "", authorization } = request.headers;
  return authorization === undefined && /^\s*text\/html\s*(;|,|$)/i.test(accept);
}
