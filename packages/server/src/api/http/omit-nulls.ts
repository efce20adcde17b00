import type { z } from "zod";

/**
 * Removes optional fields that are null from a request body, because clients in many languages write absent fields
 * that way. The schema decides: a field that is required, or for which null is a value, stays as it is.
 */
export function omitNulls(schema: z.ZodType, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const type = unwrap(schema);
  const definition = type._zod.def as Definition;
  switch (definition.type) {
    case "object":
      return omitFrom(definition.shape, value);
    case "array":
      return Array.isArray(value) ? value.map((item) => omitNulls(definition.element, item)) : value;
    case "record":
      return mapValues(value, (inner) => omitNulls(definition.valueType, inner));
    case "union":
      return omitFromVariant(definition.options, value);
    default:
      return value;
  }
}

type Definition =
  | { type: "object"; shape: Record<string, z.ZodType> }
  | { type: "array"; element: z.ZodType }
  | { type: "record"; valueType: z.ZodType }
  | { type: "union"; options: z.ZodType[] }
  | { type: "other" };

/** Returns the schema inside wrappers such as `optional` and `pipe`. */
function unwrap(schema: z.ZodType): z.ZodType {
  const { innerType, in: input } = schema._zod.def as { innerType?: z.ZodType; in?: z.ZodType };
  const inner = innerType ?? input;
  return inner ? unwrap(inner) : schema;
}

function omitFrom(shape: Record<string, z.ZodType>, value: object): unknown {
  if (Array.isArray(value)) return value;
  const kept = Object.entries(value).flatMap(([name, inner]) => {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (!field) return [[name, inner]];
    const isOmitted = inner === null && field._zod.optin === "optional" && !field.safeParse(null).success;
    return isOmitted ? [] : [[name, omitNulls(field, inner)]];
  });
  return Object.fromEntries(kept);
}

/** Uses the variant that accepts the result, or else the first one of the same kind: a list, or an object. */
function omitFromVariant(options: z.ZodType[], value: object): unknown {
  const isSameKind = (option: z.ZodType) =>
    (unwrap(option)._zod.def.type === "array") === Array.isArray(value);
  const results = options.filter(isSameKind).map((option) => ({ option, result: omitNulls(option, value) }));
  const accepted = results.find(({ option, result }) => option.safeParse(result).success);
  return (accepted ?? results[0])?.result ?? value;
}

function mapValues(value: object, change: (inner: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner)]));
}
