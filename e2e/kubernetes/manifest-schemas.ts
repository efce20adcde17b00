/** The JSON schemas of a cluster's API, in the form that kubeconform reads. It would download them otherwise. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  "x-kubernetes-group-version-kind"?: { group: string; version: string; kind: string }[];
  "x-kubernetes-preserve-unknown-fields"?: boolean;
}

/** Kubeconform takes the version for the group of objects without one. */
export const schemaLocation = (folder: string) =>
  join(folder, "{{.Group}}-{{.ResourceAPIVersion}}-{{.ResourceKind}}.json");

/** Writes a file for each of these kinds. `openApi` is the document at /openapi/v2. */
export function writeSchemas(
  folder: string,
  openApi: { definitions: Record<string, Schema> },
  kinds: string[],
): void {
  const definitions = Object.fromEntries(
    Object.entries(openApi.definitions).map(([name, schema]) => [name, makeStrict(schema)]),
  );
  for (const [name, schema] of Object.entries(openApi.definitions))
    for (const { group, version, kind } of schema["x-kubernetes-group-version-kind"] ?? [])
      if (kinds.includes(kind)) {
        const text = JSON.stringify({ $ref: `#/definitions/${name}`, definitions });
        writeFileSync(join(folder, `${group || version}-${version}-${kind.toLowerCase()}.json`), text);
      }
}

/** The API server ignores or drops unknown fields, so they are allowed in its document. */
function makeStrict(schema: Schema): Schema {
  if (schema.format === "int-or-string") return { type: ["integer", "string"] as unknown as string };
  const result = { ...schema };
  if (schema.items) result.items = makeStrict(schema.items);
  if (typeof schema.additionalProperties === "object")
    result.additionalProperties = makeStrict(schema.additionalProperties);
  if (schema.properties) {
    result.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, property]) => [name, makeStrict(property)]),
    );
    if (!schema["x-kubernetes-preserve-unknown-fields"]) result.additionalProperties ??= false;
  }
  return result;
}
