import { z } from "zod";

export type Json = { [member: string]: unknown };

/** Converts a zod schema to JSON Schema and removes keywords that are specific to zod. Named schemas are in `$defs`. */
export function toJsonSchema(schema: z.ZodType, io: "input" | "output"): { root: Json; named: Json } {
  const {
    $schema,
    $defs = {},
    ...root
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "throw",
    override({ zodSchema, jsonSchema: node }) {
      const definition = zodSchema._zod.def as { type: string; catchall?: unknown };
      // Responses may get new fields in v1, so only strict objects forbid additional properties.
      if (definition.type === "object" && !definition.catchall) delete node.additionalProperties;
      if (node.format) delete node.pattern;
      else if (node.pattern) node.pattern = withoutUnicodeClasses(node.pattern);
      if (typeof node.const === "boolean") {
        // Some generators write invalid code for a constant that is not a string.
        node.enum = [node.const];
        delete node.const;
      } else if (node.const !== undefined) delete node.type;
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (definition.type === "record" && Object.keys(node.propertyNames ?? {}).join() === "type")
        delete node.propertyNames;
      delete node.id;
    },
  }) as Json;
  return { root, named: $defs as Json };
}

/** Many tools, such as Python's, do not know `\p{Cc}`. It is replaced with the two ranges of control characters that it matches. */
function withoutUnicodeClasses(pattern: string): string {
  return pattern.replaceAll("\\p{Cc}", "\\x00-\\x1f\\x7f-\\x9f");
}

/** Returns a copy in which `change` has replaced every object, from the innermost to the outermost. */
export function mapNodes(value: unknown, change: (node: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((item) => mapNodes(item, change));
  if (value === null || typeof value !== "object") return value;
  const members = Object.entries(value).map(([name, inner]) => [name, mapNodes(inner, change)]);
  return change(Object.fromEntries(members));
}

export function mapRefs(value: unknown, rename: (ref: string) => string): unknown {
  return mapNodes(value, (node) =>
    typeof node.$ref === "string" ? { ...node, $ref: rename(node.$ref) } : node,
  );
}

/** Lets every optional property be null, which a request body can send instead of omitting the property. */
export function allowNulls(value: unknown): unknown {
  return mapNodes(value, (node) => {
    // The conditions in `if`, `then` and `else` also have properties, but no type.
    if (node.type !== "object" || !node.properties) return node;
    const required = (node.required ?? []) as string[];
    const properties = Object.entries(node.properties as Record<string, Json>).map(([name, property]) => [
      name,
      required.includes(name) ? property : nullable(property),
    ]);
    return { ...node, properties: Object.fromEntries(properties) };
  });
}

function nullable(schema: Json): Json {
  const { description, examples, ...rules } = schema;
  const isPlain = typeof rules.type === "string" && !("enum" in rules) && !("const" in rules);
  if (isPlain) return { ...schema, type: [rules.type, "null"] };
  const notes = { ...(description ? { description } : {}), ...(examples ? { examples } : {}) };
  const variants = Object.keys(rules).join() === "anyOf" ? (rules.anyOf as Json[]) : [rules];
  return { ...notes, anyOf: [...variants, { type: "null" }] };
}
