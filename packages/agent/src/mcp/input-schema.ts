type Schema = Record<string, unknown>;

/** A larger schema would use too much of the context. */
export const MAX_SCHEMA_BYTES = 32 * 1024;

/**
 * Converts a tool's input schema to the form that every provider accepts: an object without alternatives at the top.
 * The server validates the input itself, so this loses only guidance for the model. Every text in the schema is
 * redacted. Returns undefined if the schema is too large.
 */
export function toInputSchema(original: Schema, redact: (text: string) => string): Schema | undefined {
  const schema = mapTexts(original, redact) as Schema;
  const { $schema: _, $id: __, oneOf, anyOf, allOf, ...rest } = schema;
  const parts = [allOf, anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : []));
  const required = [rest, ...(Array.isArray(allOf) ? allOf.filter(isObject) : [])].flatMap((part) =>
    Array.isArray(part.required) ? part.required.filter((name) => typeof name === "string") : [],
  );
  const normalized: Schema = {
    ...rest,
    type: "object",
    properties: Object.assign(
      {},
      ...[...parts, rest].map(({ properties }) => (isObject(properties) ? properties : {})),
    ),
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
  };
  return Buffer.byteLength(JSON.stringify(normalized)) <= MAX_SCHEMA_BYTES ? normalized : undefined;
}

export const anyInput: Schema = { type: "object", properties: {}, additionalProperties: true };

/** Replaces every text in a schema, including the names of fields. The depth of schemas is limited. */
function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((inner) => mapTexts(inner, map));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [map(key), mapTexts(inner, map)]));
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
