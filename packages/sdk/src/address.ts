import { OutriderError } from "./errors.ts";

type Value = string | number | boolean | Date;

/** A list is repeated, an object becomes `name[key]=value`, undefined is left out. */
export type Query = Record<string, Value | readonly Value[] | Record<string, Value> | undefined>;

/** A path whose values stay single segments, whatever they hold. */
export function path(texts: TemplateStringsArray, ...values: string[]): string {
  return texts.reduce((made, text, index) => made + segment(values[index - 1]) + text);
}

function segment(value: unknown): string {
  // Empty and dotted segments would make another address of the path, and so another call.
  if (typeof value !== "string" || /^\.{0,2}$/.test(value))
    throw new OutriderError(
      `An identifier must be a text like an id or a name, not ${JSON.stringify(value)}.`,
    );
  return encodeURIComponent(value);
}

export function addressOf(baseURL: string, where: string, query: object = {}): string {
  if (!where.startsWith("/"))
    throw new OutriderError(
      `A path begins with "/" and goes behind ${baseURL}: ${JSON.stringify(where)} does not.`,
    );
  const pairs = Object.entries(query as Query).flatMap(([name, value]) => pairsOf(name, value));
  if (pairs.length === 0) return baseURL + where;
  return `${baseURL}${where}${where.includes("?") ? "&" : "?"}${new URLSearchParams(pairs)}`;
}

function pairsOf(name: string, value: Query[string] | null): [string, string][] {
  if (value === undefined) return [];
  if (value === null) throw new OutriderError(`The query's ${name} is null: leave it out instead.`);
  if (value instanceof Date) return [[name, value.toISOString()]];
  if (Array.isArray(value)) return value.flatMap((each: Value) => pairsOf(name, each));
  if (typeof value !== "object") return [[name, String(value)]];
  return Object.entries(value).flatMap(([key, each]) => pairsOf(`${name}[${key}]`, each));
}

/** Without a slash at its end, and refused where it is no address or carries a password. */
export function checkedBase(baseURL: string): string {
  let url: URL;
  try {
    url = new URL(baseURL);
  } catch {
    throw new OutriderError(
      `baseURL is no address: ${JSON.stringify(baseURL)}. Give one like https://host/api/v1.`,
    );
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new OutriderError(`baseURL must begin with http:// or https://, not ${url.protocol}`);
  if (url.username || url.password)
    throw new OutriderError("baseURL must not hold a user or password: give the key as apiKey.");
  if (url.search || url.hash) throw new OutriderError("baseURL must not have a query or a fragment.");
  return baseURL.trim().replace(/\/+$/, "");
}
