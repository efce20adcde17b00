import { limits } from "@outrider/contract/limits";
import { operations, type Route } from "@outrider/contract/route";
import type { FastifyRequest } from "fastify";
import { badMember, notFound, Refusal } from "../engine/refusal.ts";
import { parse } from "./parse.ts";
import { readQuery } from "./query.ts";

/** What a call asks for, read out of its request and checked by its route. */

export const BASE = "/api/v1";

export function pathOf(request: FastifyRequest): string {
  return request.url.split("?")[0] as string;
}

export function requireAcceptable(route: Route, request: FastifyRequest) {
  const { accept } = request.headers;
  if (accept === undefined) return;
  const streams = Object.values(route.answers).some((answer) => answer.stream);
  const types = accept.split(",").map((part) => part.split(";")[0]?.trim().toLowerCase());
  const offered = [
    "application/json",
    "application/*",
    "*/*",
    ...(streams ? ["text/event-stream", "text/*"] : []),
  ];
  if (!types.some((type) => type === "" || offered.includes(type as string))) {
    throw new Refusal(
      "not_acceptable",
      `This call answers with ${offered[0]}${streams ? " or text/event-stream" : ""}.`,
    );
  }
}

/** The bytes of the body, which a call without body members may leave out, with whatever content type. */
export function bodyOf(request: FastifyRequest): Buffer {
  const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (raw.length === 0) return raw;
  const encoding = request.headers["content-encoding"];
  const type = request.headers["content-type"]?.toLowerCase() ?? "";
  const isJson = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/.test(type);
  if (!isJson || (encoding !== undefined && encoding !== "identity")) {
    throw new Refusal(
      "unsupported_media_type",
      "Send the body as `Content-Type: application/json` in UTF-8.",
    );
  }
  return raw;
}

export function bodyMembers(route: Route, json: unknown, bytes: number): unknown {
  if (!route.body) {
    const isEmpty = json === undefined || (isObject(json) && Object.keys(json).length === 0);
    if (!isEmpty) throw new Refusal("invalid_request", "This call takes no body.");
    return undefined;
  }
  if (json === undefined) throw new Refusal("invalid_request", "This call needs a JSON body.");
  if (bytes > limits.body && !(isObject(json) && json.attachments)) {
    throw new Refusal("payload_too_large", `A body without attachments may have ${limits.body} bytes.`);
  }
  return parse(route.body, json, "body");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An identifier that cannot be one is an identifier that nothing has. */
export function paramsOf(route: Route, request: FastifyRequest): unknown {
  if (!route.params) return undefined;
  const result = route.params.safeParse(request.params);
  if (!result.success) throw notFound("resource");
  return result.data;
}

export function queryOf(route: Route, request: FastifyRequest): unknown {
  const text = request.url.split("?").slice(1).join("?");
  if (!route.query) {
    const [name] = text.split(/[=&]/);
    if (text !== "") throw badMember(name as string, "is not known; this call takes no parameters");
    return undefined;
  }
  return parse(route.query, readQuery(text, route.query), "query");
}

const patterns = operations.map(([, { method, path }]) => ({
  method,
  pattern: new RegExp(`^${BASE}${path.replace(/\{\w+\}/g, "[^/]+")}$`),
}));

/** The methods that an address takes; none where nothing has the address. */
export function methodsOf(path: string): string[] {
  return patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
}
