import type { z } from "zod";
import { ApiError, invalidField } from "../../engine/api-error.ts";
import { requireStorableText } from "./json-body.ts";

/**
 * Converts a query string to an object for the schema to validate. Array parameters repeat their name, records are
 * written as `name[key]=value`, and every other parameter may appear only once.
 */
export function readQuery(text: string, schema: z.ZodObject): Record<string, unknown> {
  const single = new Map<string, string>();
  const lists = new Map<string, string[]>();
  const maps = new Map<string, Map<string, string>>();
  const add = (to: Map<string, string>, key: string, value: string, name: string) => {
    if (to.has(key)) throw invalidField(name, "must not be repeated");
    to.set(key, value);
  };
  for (const pair of text.split("&").filter((part) => part !== "")) {
    const [rawName = "", ...rest] = pair.split("=");
    const name = decode(rawName, "the query");
    const value = decode(rest.join("="), name);
    const [, map = "", key = ""] = /^([^[\]]+)\[([^[\]]*)\]$/.exec(name) ?? [];
    if (kindOf(schema, map) === "record") {
      if (key === "__proto__") throw invalidField(name, "must not be named `__proto__`");
      const entries = maps.get(map) ?? new Map();
      maps.set(map, entries);
      add(entries, key, value, name);
    } else if (kindOf(schema, name) === "array") {
      lists.set(name, [...(lists.get(name) ?? []), value]);
    } else if (kindOf(schema, name) === "record") {
      throw invalidField(name, `must be written as \`${name}[key]=value\``);
    } else {
      add(single, name, value, name);
    }
  }
  const objects = [...maps].map(([name, entries]) => [name, Object.fromEntries(entries)]);
  return Object.fromEntries([...single, ...lists, ...objects]);
}

function decode(text: string, name: string): string {
  let value: string;
  try {
    value = decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new ApiError("invalid_request", `\`${name}\` contains percent-encoding that is not valid UTF-8.`);
  }
  requireStorableText(value, name);
  return value;
}

function kindOf(schema: z.ZodObject, name: string): string | undefined {
  let type = Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : undefined;
  while (type && "innerType" in type._zod.def) type = type._zod.def.innerType as z.ZodType;
  return type?._zod.def.type;
}
