/**
 * Replaces every string in the fields of a JSON object, at any depth. The names of the object's own fields are kept.
 */
export function mapFields<T extends object>(fields: T, map: (text: string) => string): T {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, mapStrings(value, map)]),
  ) as T;
}

/** Replaces every string in a JSON value, including the keys of objects. */
function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((inner) => mapStrings(inner, map));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [map(key), mapStrings(inner, map)]));
}
