import { limits } from "@outrider/contract/limits";
import type { Route } from "@outrider/contract/route";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { badMember, notFound, Refusal } from "../engine/refusal.ts";
import { parse } from "./parse.ts";
import { readQuery } from "./query.ts";

/** What a call asks for, read out of its request and checked by its route. */

export const BASE = "/api/v1";

export function pathOf(request: FastifyRequest): string {
  return request.url.split("?")[0] as string;
}

/** Share links begin with this. */
export const SHARED = "/shared";

/** The path as it may be kept: what stands in it must not be a right to read. */
export function shownPathOf(request: FastifyRequest): string {
  return pathOf(request).replace(new RegExp(`^${SHARED}/[^/]+`), `${SHARED}/{token}`);
}

export function requireAcceptable({ answers }: Pick<Route, "answers">, request: FastifyRequest) {
  const { accept } = request.headers;
  if (accept === undefined) return;
  const offered = Object.values(answers).flatMap(({ media = ["application/json"], stream }) => [
    ...media,
    ...(stream ? ["text/event-stream"] : []),
  ]);
  const asked = accept.split(",").map((part) => part.split(";")[0]?.trim().toLowerCase() ?? "");
  const fits = (type: string) =>
    type === "" || type === "*/*" || offered.some((one) => one === type || type === `${one.split("/")[0]}/*`);
  if (!asked.some(fits)) {
    throw new Refusal("not_acceptable", `This call answers with ${[...new Set(offered)].join(", ")}.`);
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

export function bodyMembers(
  route: Pick<Route, "method" | "body" | "params" | "query">,
  json: unknown,
  bytes: number,
): unknown {
  if (!route.body) {
    const isEmpty = json === undefined || (isObject(json) && Object.keys(json).length === 0);
    if (!isEmpty) throw new Refusal("invalid_request", "This call takes no body.");
    return undefined;
  }
  if (json === undefined) {
    const nothing = route.body.safeParse({});
    if (nothing.success) return nothing.data;
    throw new Refusal("invalid_request", "This call needs a JSON body.");
  }
  const isWithFiles = isObject(json) && Array.isArray(json.attachments) && json.attachments.length > 0;
  if (bytes > limits.body && !isWithFiles) {
    throw new Refusal("payload_too_large", `A body without attachments may have ${limits.body} bytes.`);
  }
  return parse(route.body, json, "body");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An identifier that cannot be one is an identifier that nothing has; a name that the caller chooses is a wrong one. */
export function paramsOf(
  route: Pick<Route, "method" | "body" | "params" | "query">,
  request: FastifyRequest,
): unknown {
  if (!route.params) return undefined;
  const result = route.params.safeParse(request.params);
  const [issue] = result.error?.issues ?? [];
  if (issue && route.method === "PUT" && issue.path[0] === "name") throw badMember("name", issue.message);
  if (!result.success) throw notFound("resource");
  return result.data;
}

export function queryOf(
  route: Pick<Route, "method" | "body" | "params" | "query">,
  request: FastifyRequest,
): unknown {
  const text = request.url.split("?").slice(1).join("?");
  if (!route.query) {
    const [name] = text.split(/[=&]/);
    if (text !== "") throw badMember(name as string, "is not known; this call takes no parameters");
    return undefined;
  }
  return parse(route.query, readQuery(text, route.query), "query");
}

/** From now on, notes the app's routes. Answers with the methods that an address takes; none where nothing has it. */
export function routesOf(app: FastifyInstance): (path: string) => string[] {
  const routes: { methods: string[]; pattern: RegExp }[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    const pattern = url.replaceAll(".", "\\.").replace(/:\w+/g, "[^/]+");
    routes.push({ methods: [method].flat(), pattern: new RegExp(`^${pattern}$`) });
  });
  return (path) => routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
}
