import { OutriderError } from "./errors.ts";

type Value = string | number | boolean | Date;

/** Query parameters. Arrays are repeated, objects become `name[key]=value`, and undefined is omitted. */
export type Query = Record<string, Value | readonly Value[] | Record<string, Value> | undefined>;

/** Builds a path. Each value is escaped, so that it stays a single segment. */
export function path(texts: TemplateStringsArray, ...values: string[]): string {
  return texts.reduce((result, text, index) => result + segment(values[index - 1]) + text);
}

function segment(value: unknown): string {
  // Empty and dot segments would change the path and call another operation.
  if (typeof value !== "string" || /^\.{0,2}$/.test(value))
    throw new OutriderError(`An ID or name must be a non-empty string, not ${JSON.stringify(value)}.`);
  return encodeURIComponent(value);
}

export function buildUrl(baseURL: string, path: string, query: object = {}): string {
  if (!path.startsWith("/"))
    throw new OutriderError(
      `The path must start with "/" and is relative to ${baseURL}, but it is ${JSON.stringify(path)}.`,
    );
  const pairs = Object.entries(query as Query).flatMap(([name, value]) => toPairs(name, value));
  if (pairs.length === 0) return baseURL + path;
  return `${baseURL}${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams(pairs)}`;
}

function toPairs(name: string, value: Query[string] | null): [string, string][] {
  if (value === undefined) return [];
  if (value === null) throw new OutriderError(`Query parameter ${name} must not be null. Omit it instead.`);
  if (value instanceof Date) return [[name, value.toISOString()]];
  if (Array.isArray(value)) return value.flatMap((item: Value) => toPairs(name, item));
  if (typeof value !== "object") return [[name, String(value)]];
  return Object.entries(value).flatMap(([key, item]) => toPairs(`${name}[${key}]`, item));
}

/** Validates the base URL and removes trailing slashes. */
export function parseBaseUrl(baseURL: string): string {
  let url: URL;
  try {
    url = new URL(baseURL);
  } catch {
    throw new OutriderError(
      `baseURL must be a URL such as https://host/api/v1, not ${JSON.stringify(baseURL)}.`,
    );
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new OutriderError(`baseURL must start with http:// or https://, not ${url.protocol}`);
  if (url.username || url.password)
    throw new OutriderError("baseURL must not contain a user or password. Pass the key as apiKey.");
  if (url.search || url.hash) throw new OutriderError("baseURL must not have a query or a fragment.");
  return baseURL.trim().replace(/\/+$/, "");
}
