import type { z } from "zod";
import { badMember, Refusal } from "../engine/refusal.ts";
import { requireKeepableText } from "./json.ts";

/** A query string as a schema expects it: lists repeat their name, maps are `name[key]=value`, the rest appears once. */
export function readQuery(text: string, schema: z.ZodObject): Record<string, unknown> {
  const once = new Map<string, string>();
  const lists = new Map<string, string[]>();
  const maps = new Map<string, Map<string, string>>();
  const add = (to: Map<string, string>, key: string, value: string, name: string) => {
    if (to.has(key)) throw badMember(name, "is given twice");
    to.set(key, value);
  };
  for (const pair of text.split("&").filter((part) => part !== "")) {
    const [rawName = "", ...rest] = pair.split("=");
    const name = decode(rawName, "the query");
    const value = decode(rest.join("="), name);
    const [, map = "", key = ""] = /^([^[\]]+)\[([^[\]]*)\]$/.exec(name) ?? [];
    if (kindOf(schema, map) === "record") {
      if (key === "__proto__") throw badMember(name, "must not be named `__proto__`");
      const entries = maps.get(map) ?? new Map();
      maps.set(map, entries);
      add(entries, key, value, name);
    } else if (kindOf(schema, name) === "array") {
      lists.set(name, [...(lists.get(name) ?? []), value]);
    } else if (kindOf(schema, name) === "record") {
      throw badMember(name, `is given as \`${name}[key]=value\``);
    } else {
      add(once, name, value, name);
    }
  }
  const objects = [...maps].map(([name, entries]) => [name, Object.fromEntries(entries)]);
  return Object.fromEntries([...once, ...lists, ...objects]);
}

function decode(text: string, name: string): string {
  let value: string;
  try {
    value = decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new Refusal("invalid_request", `\`${name}\` holds an escape that is not valid UTF-8.`);
  }
  requireKeepableText(value, name);
  return value;
}

function kindOf(schema: z.ZodObject, name: string): string | undefined {
  let type = Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : undefined;
  while (type && "innerType" in type._zod.def) type = type._zod.def.innerType as z.ZodType;
  return type?._zod.def.type;
}
