import { limits } from "@outrider/contract/limits";
import type { Route } from "@outrider/contract/route";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError, invalidField, notFound } from "../../engine/api-error.ts";
import { omitNulls } from "./omit-nulls.ts";
import { parse } from "./parse.ts";
import { readQuery } from "./query.ts";

/** Reads a request's path, query and body, and validates them against the schemas of its route. */

export const BASE = "/api/v1";

export function pathOf(request: FastifyRequest): string {
  return request.url.split("?")[0] as string;
}

/** The path prefix of share links. */
export const SHARED = "/shared";

/** Returns the path without the share token, which grants access and must not appear in logs or problem documents. */
export function redactedPathOf(request: FastifyRequest): string {
  return pathOf(request).replace(new RegExp(`^${SHARED}/[^/]+`), `${SHARED}/{token}`);
}

export function requireAcceptable({ responses }: Pick<Route, "responses">, request: FastifyRequest) {
  const { accept } = request.headers;
  if (accept === undefined) return;
  const offered = Object.values(responses).flatMap(({ media = ["application/json"], stream }) => [
    ...media,
    ...(stream ? ["text/event-stream"] : []),
  ]);
  const accepted = accept.split(",").map((part) => part.split(";")[0]?.trim().toLowerCase() ?? "");
  const isOffered = (type: string) =>
    type === "" ||
    type === "*/*" ||
    offered.some((media) => media === type || type === `${media.split("/")[0]}/*`);
  if (!accepted.some(isOffered)) {
    throw new ApiError("not_acceptable", `This endpoint responds with ${[...new Set(offered)].join(", ")}.`);
  }
}

/** Returns the raw body, which may be empty. Throws if a non-empty body is not declared as JSON. */
export function readBody(request: FastifyRequest): Buffer {
  const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (raw.length === 0) return raw;
  const encoding = request.headers["content-encoding"];
  const type = request.headers["content-type"]?.toLowerCase() ?? "";
  const isJson = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/.test(type);
  if (!isJson || (encoding !== undefined && encoding !== "identity")) {
    throw new ApiError(
      "unsupported_media_type",
      "Send the body as `Content-Type: application/json` in UTF-8.",
    );
  }
  return raw;
}

/** Validates a parsed JSON body. `bytes` is the size of the raw body. */
export function parseBody(
  route: Pick<Route, "method" | "body"> & { scope?: string },
  json: unknown,
  bytes: number,
): unknown {
  if (!route.body) {
    const isEmpty = json === undefined || (isObject(json) && Object.keys(json).length === 0);
    if (!isEmpty) throw new ApiError("invalid_request", "This endpoint takes no body.");
    return undefined;
  }
  if (json === undefined) {
    const empty = route.body.safeParse({});
    if (empty.success) return empty.data;
    throw new ApiError("invalid_request", "This endpoint requires a JSON body.");
  }
  const hasAttachments = isObject(json) && Array.isArray(json.attachments) && json.attachments.length > 0;
  // A worker sends events that contain whole tool results.
  if (bytes > limits.body && !hasAttachments && route.scope !== "worker") {
    throw new ApiError(
      "payload_too_large",
      `Request bodies without attachments are limited to ${limits.body} bytes.`,
    );
  }
  // In a PATCH, null clears the field, so it must reach the schema. Workers never send null.
  if (route.method === "PATCH") return parse(route.body, json, "patch");
  return parse(route.body, route.scope === "worker" ? json : omitNulls(route.body, json), "body");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reports a malformed ID as not found, and a malformed name that the caller chose as an invalid field. */
export function parseParams(
  route: Pick<Route, "method" | "body" | "params" | "query">,
  request: FastifyRequest,
): unknown {
  if (!route.params) return undefined;
  const result = route.params.safeParse(request.params);
  const [issue] = result.error?.issues ?? [];
  if (issue && route.method === "PUT" && issue.path[0] === "name") throw invalidField("name", issue.message);
  if (!result.success) throw notFound("resource");
  return result.data;
}

export function parseQuery(
  route: Pick<Route, "method" | "body" | "params" | "query">,
  request: FastifyRequest,
): unknown {
  const text = request.url.split("?").slice(1).join("?");
  if (!route.query) {
    const [name] = text.split(/[=&]/);
    if (text !== "")
      throw invalidField(name as string, "is unknown; this endpoint takes no query parameters");
    return undefined;
  }
  return parse(route.query, readQuery(text, route.query), "query");
}

/** Records every route that is added to the app after this call. Returns a function that lists a path's methods. */
export function recordRoutes(app: FastifyInstance): (path: string) => string[] {
  const routes: { methods: string[]; pattern: RegExp }[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    const pattern = url.replaceAll(".", "\\.").replace(/:\w+/g, "[^/]+");
    routes.push({ methods: [method].flat(), pattern: new RegExp(`^${pattern}$`) });
  });
  return (path) => routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
}
