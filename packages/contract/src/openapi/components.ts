import type { z } from "zod";
import { allowNulls, type Json, mapRefs, toJsonSchema } from "./json-schema.ts";

const REQUEST = "#/requests/";
const RESPONSE = "#/components/schemas/";

/**
 * Collects the named schemas of a document. Requests and responses share a component if both describe it in the same
 * way. Otherwise the component of the request gets the suffix `Input`: its optional fields can be null.
 */
export class Components {
  readonly #requests: Record<string, Json> = {};
  readonly #responses: Record<string, Json> = {};

  /** Returns the schema of a response or parameter. */
  response(schema: z.ZodType): Json {
    return this.#add(schema, "output", { to: this.#responses, prefix: RESPONSE, prepare: (node) => node });
  }

  /** Returns the schema of a request body. Its references are final only after `resolve`. */
  request(schema: z.ZodType, { nullsAllowed }: { nullsAllowed: boolean }): Json {
    const prepare = nullsAllowed ? allowNulls : (node: unknown) => node;
    return this.#add(schema, "input", { to: this.#requests, prefix: REQUEST, prepare });
  }

  /** Returns the document with its components, in which all references are final. */
  resolve(document: Json): Json {
    const renamed = this.#differing();
    const finish = (value: unknown) => mapRefs(value, (ref) => finalRef(ref, renamed));
    const requests = Object.entries(this.#requests).map(([name, schema]) => [
      renamed.has(name) ? `${name}Input` : name,
      finish(schema),
    ]);
    const schemas = { ...this.#responses, ...Object.fromEntries(requests) } as Record<string, Json>;
    addDiscriminators(schemas);
    const sorted = Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1));
    const resolved = finish(document) as Json & { components: Json };
    return { ...resolved, components: { ...resolved.components, schemas: Object.fromEntries(sorted) } };
  }

  #add(
    schema: z.ZodType,
    io: "input" | "output",
    { to, prefix, prepare }: { to: Record<string, Json>; prefix: string; prepare(node: unknown): unknown },
  ): Json {
    const { root, named } = toJsonSchema(schema, io);
    const finish = (value: unknown) =>
      prepare(mapRefs(value, (ref) => ref.replace(/^#\/\$defs\//, prefix))) as Json;
    for (const [name, inner] of Object.entries(named)) put(to, name, finish(inner));
    const { id } = schema.meta() ?? {};
    const linked = finish(root);
    if (!id) return linked;
    if (!linked.$ref) put(to, id, linked);
    return { $ref: prefix + id };
  }

  /** Returns the names of request components that differ from the response component of the same name. */
  #differing(): Set<string> {
    const found = new Set<string>();
    for (let before = -1; before < found.size; ) {
      before = found.size;
      for (const [name, schema] of Object.entries(this.#requests)) {
        const response = this.#responses[name];
        const linked = mapRefs(schema, (ref) => finalRef(ref, found));
        if (response && JSON.stringify(linked) !== JSON.stringify(response)) found.add(name);
      }
    }
    return found;
  }
}

function put(components: Record<string, Json>, name: string, schema: Json) {
  const known = components[name];
  if (known && JSON.stringify(known) !== JSON.stringify(schema))
    throw new Error(`Two different schemas are named ${name}. Give one of them another name.`);
  components[name] = schema;
}

function finalRef(ref: string, renamed: Set<string>): string {
  if (!ref.startsWith(REQUEST)) return ref;
  const name = ref.slice(REQUEST.length);
  return `${RESPONSE}${name}${renamed.has(name) ? "Input" : ""}`;
}

/** Adds an OpenAPI discriminator to each union whose components have a constant `type`. */
function addDiscriminators(components: Record<string, Json>) {
  for (const union of Object.values(components)) {
    if (!Array.isArray(union.oneOf) || !union.oneOf.every((item) => item.$ref)) continue;
    const mapping = union.oneOf.map(({ $ref }) => {
      const variant = components[$ref.split("/").at(-1)] as { properties: { type: { const: string } } };
      return [variant.properties.type.const, $ref];
    });
    union.discriminator = { propertyName: "type", mapping: Object.fromEntries(mapping) };
  }
}
