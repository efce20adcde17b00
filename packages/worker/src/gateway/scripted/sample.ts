import { objectOf } from "./json.ts";

/** A deeper schema is not worth a sample, and it must not exhaust the stack. */
const MAX_DEPTH = 16;

/** Returns the smallest value that matches a simple JSON schema: required fields only, and the first choice of each. */
export function sampleOf(schema: unknown, depth = 0): unknown {
  const {
    type,
    enum: choices,
    const: constant,
    properties,
    required,
    items,
    minItems,
    minimum,
    anyOf,
  } = objectOf(schema);
  if (constant !== undefined) return constant;
  if (Array.isArray(choices)) return choices[0];
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(anyOf)) return sampleOf(anyOf[0], depth + 1);
  switch (String(Array.isArray(type) ? type[0] : type).toLowerCase()) {
    case "string":
      return "scripted";
    case "integer":
    case "number":
      return typeof minimum === "number" ? minimum : 1;
    case "boolean":
      return false;
    case "array":
      return typeof minItems === "number" && minItems > 0 ? [sampleOf(items, depth + 1)] : [];
    case "null":
      return null;
  }
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  const fields = objectOf(properties);
  return Object.fromEntries(names.map((name) => [name, sampleOf(fields[name], depth + 1)]));
}
