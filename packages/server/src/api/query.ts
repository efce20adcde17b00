import type { z } from "zod";
import { badMember, Refusal } from "../engine/refusal.ts";
import { requireKeepableText } from "./json.ts";

/** A query string as a schema expects it: lists repeat their name, maps are `name[key]=value`, the rest appears once. */
export function readQuery(text: string, schema: z.ZodObject): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const pair of text.split("&").filter((part) => part !== "")) {
    const [rawName = "", ...rest] = pair.split("=");
    const name = unescape(rawName, "the query");
    const value = unescape(rest.join("="), name);
    requireKeepableText(name, "the query");
    requireKeepableText(value, name);
    const [, map, key] = /^([^[\]]+)\[([^[\]]*)\]$/.exec(name) ?? [];
    if (map !== undefined && kindOf(schema, map) === "record") {
      const entries = (values[map] ??= Object.create(null)) as Record<string, string>;
      if (key !== undefined && key in entries) throw badMember(name, "is given twice");
      entries[key as string] = value;
    } else if (kindOf(schema, name) === "array") {
      ((values[name] ??= []) as string[]).push(value);
    } else {
      if (Object.hasOwn(values, name)) throw badMember(name, "is given twice");
      values[name] = value;
    }
  }
  for (const [name, value] of Object.entries(values)) {
    if (Object.getPrototypeOf(value) === null) values[name] = { ...(value as object) };
  }
  return values;
}

function unescape(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new Refusal("invalid_request", `\`${name}\` holds an escape that is not valid UTF-8.`);
  }
}

function kindOf(schema: z.ZodObject, name: string): string | undefined {
  let type = schema.shape[name] as z.ZodType | undefined;
  while (type && "innerType" in type._zod.def) type = type._zod.def.innerType as z.ZodType;
  return type?._zod.def.type;
}
