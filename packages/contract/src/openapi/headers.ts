import { limits } from "../limits.ts";
import type { Route } from "../route.ts";

/** The headers of requests and responses, and the operations that have them. */

const idempotencyHours = limits.idempotency.hours;

/** Request headers, by the name of their component. */
export const parameterComponents = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description: `Makes retries safe: for ${idempotencyHours} hours, a request with the same key and the same JSON body returns the first response. A request that is rejected with 400 does not use up its key.`,
    schema: { type: "string", pattern: "^[!-~]+$", maxLength: limits.idempotency.keyCharacters },
  },
  LastEventId: {
    name: "Last-Event-ID",
    in: "header",
    description: "Streams only: the last `seq` that the client received.",
    schema: { type: "string", pattern: "^[0-9]{0,9}$" },
  },
  OutriderClient: {
    name: "X-Outrider-Client",
    in: "header",
    description: `The client that creates the run, such as \`github-action/2\`. It becomes the \`source\` of the run, one of \`CLI\`, \`GITHUB_ACTION\` and \`API\`. The part after \`/\`, upper and lower case, and the difference between \`_\` and \`-\` are ignored. An unknown client counts as \`API\`. The header has no effect in signed-in browsers, whose runs have the source \`WEB_APP\`.`,
    schema: { type: "string" },
    examples: { cli: { value: "cli/1.0" }, action: { value: "github-action/2" } },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "The `ETag` of an earlier response. If the content is unchanged, the response is 304.",
    schema: { type: "string" },
  },
  Range: {
    name: "Range",
    in: "header",
    description: "The part of the content to return, such as `bytes=1000-1999`. Several ranges are ignored.",
    schema: { type: "string" },
  },
  IfRange: {
    name: "If-Range",
    in: "header",
    description: "An `ETag`. If the content has another one, `Range` is ignored.",
    schema: { type: "string" },
  },
};

/** Response headers, by name. */
export const headerComponents = {
  RateLimit: {
    description:
      'What is left of each rate limit: `r` requests, for `t` seconds. For example `"requests";r=5873;t=41`.',
    schema: { type: "string" },
  },
  "RateLimit-Policy": {
    description:
      'The rate limits that apply: `q` requests in `w` seconds. For example `"requests";q=6000;w=60`.',
    schema: { type: "string" },
  },
  "Retry-After": {
    description: "The number of seconds to wait before the next attempt.",
    schema: { type: "integer", minimum: 0 },
  },
  ETag: {
    description: "Identifies this version of the content. Send it back as `If-None-Match`.",
    schema: { type: "string" },
  },
  "Idempotent-Replayed": {
    description: "`true` if this is the stored response to an earlier request with the same key.",
    schema: { type: "string", enum: ["true"] },
  },
  "Accept-Ranges": { description: "`bytes`: a `Range` header is supported.", schema: { type: "string" } },
  "Content-Range": {
    description: "The returned part and the size of the content, such as `bytes 1000-1999/5000`.",
    schema: { type: "string" },
  },
};

export type ParameterName = keyof typeof parameterComponents;
export type HeaderName = keyof typeof headerComponents;

/** Returns whether the operation has an `ETag` and supports `If-None-Match`. */
export function isConditional({ method, responses }: Route): boolean {
  return method === "GET" && Object.values(responses).some(({ schema, ranges }) => schema || ranges);
}

export function supportsRanges({ responses }: Route): boolean {
  return Object.values(responses).some(({ ranges }) => ranges);
}

/** Returns the request headers of an operation. */
export function requestHeaders(route: Route): ParameterName[] {
  const isResumable = Object.values(route.responses).some(({ stream }) => stream === "resumable");
  return [
    ...(route.method === "POST" ? (["IdempotencyKey"] as const) : []),
    ...(route.recordsClient ? (["OutriderClient"] as const) : []),
    ...(isResumable ? (["LastEventId"] as const) : []),
    ...(isConditional(route) ? (["IfNoneMatch"] as const) : []),
    ...(supportsRanges(route) ? (["Range", "IfRange"] as const) : []),
  ];
}

/** Returns the headers of an operation's responses with this status. */
export function responseHeaders(route: Route, status: number): HeaderName[] {
  const isSuccess = status < 400;
  return [
    ...(isSuccess || status === 429 ? (["RateLimit", "RateLimit-Policy"] as const) : []),
    ...(status === 429 || status === 503 ? (["Retry-After"] as const) : []),
    ...(isSuccess && route.method === "POST" ? (["Idempotent-Replayed"] as const) : []),
    ...(isSuccess && status !== 204 && isConditional(route) ? (["ETag"] as const) : []),
    ...((status === 200 || status === 206) && supportsRanges(route) ? (["Accept-Ranges"] as const) : []),
    ...((status === 206 || status === 416) && supportsRanges(route) ? (["Content-Range"] as const) : []),
  ];
}
