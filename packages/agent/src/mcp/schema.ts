type Schema = Record<string, unknown>;

/** Beyond this a schema costs more of the context than a tool is worth. */
const SCHEMA_BYTES = 32 * 1024;

/**
 * What a tool takes, in the form that every provider accepts: an object, with no choice at its top. The server checks
 * the input itself, so what gets lost here is advice to the model and nothing more. Undefined where it is too long.
 */
export function inputSchema(schema: Schema): Schema | undefined {
  const { $schema: _, $id: __, oneOf, anyOf, allOf, ...rest } = schema;
  const parts = [allOf, anyOf, oneOf].flatMap((each) => (Array.isArray(each) ? each.filter(isObject) : []));
  const required = [rest, ...(Array.isArray(allOf) ? allOf.filter(isObject) : [])].flatMap((each) =>
    Array.isArray(each.required) ? each.required.filter((name) => typeof name === "string") : [],
  );
  const normal: Schema = {
    ...rest,
    type: "object",
    properties: Object.assign(
      {},
      ...[...parts, rest].map(({ properties }) => (isObject(properties) ? properties : {})),
    ),
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
  };
  return Buffer.byteLength(JSON.stringify(normal)) <= SCHEMA_BYTES ? normal : undefined;
}

export const anyInput: Schema = { type: "object", properties: {}, additionalProperties: true };

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
