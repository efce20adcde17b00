import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

/** Generates src/generated/models.ts from openapi.json. With --check, only verifies that the file is up to date. */

interface Parameter {
  name: string;
  in: string;
  description?: string;
  schema: object;
}
interface Operation {
  operationId: string;
  parameters?: Parameter[];
}

const document = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8"));
const file = new URL("../src/generated/models.ts", import.meta.url);

/** Turns query parameters into models, such as `ListRunsQuery`. Other parts of paths would triple the package size. */
function queries(): Record<string, object> {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path as object));
  return Object.fromEntries(
    (operations as Operation[]).flatMap(({ operationId, parameters = [] }) => {
      const found = parameters.filter((each) => each.in === "query");
      if (found.length === 0) return [];
      const properties = found.map(({ name, description, schema }) => [name, { description, ...schema }]);
      const name = `${operationId[0]?.toUpperCase()}${operationId.slice(1)}Query`;
      return [[name, { type: "object", properties: Object.fromEntries(properties) }]];
    }),
  );
}

/** Descriptions that would repeat in every model. They make the package larger and tell readers nothing new. */
const repeated = [
  "A UUID. The service generates version 7.",
  "RFC 3339 timestamp in UTC, with milliseconds.",
];

/** Removes keywords that types cannot express, because the generator would repeat them in comments. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const { format: _, examples: __, ...rest } = value as Record<string, unknown>;
  if (repeated.includes(rest.description as string)) delete rest.description;
  const says = (each: unknown) => Object.keys(plain(each) as object).length > 0;
  if (Array.isArray(rest.anyOf) && !rest.anyOf.some(says)) delete rest.anyOf;
  return Object.fromEntries(
    Object.entries(rest).map(([key, each]) => [
      key,
      key === "properties" ? members(each as object) : plain(each),
    ]),
  );
}

type Schema = Record<string, unknown>;

/**
 * Removes null from the schemas of requests, where it means the same as an absent field. The types offer only one way
 * to omit a field. A component that then equals the one for responses, such as `RunLimitsInput`, is merged with it.
 */
function withoutNulls(schemas: Record<string, Schema>): Record<string, Schema> {
  const text = JSON.stringify(schemas, (_key, node) => toUnion(dropNull(node)));
  const plainSchemas = JSON.parse(text) as Record<string, Schema>;
  const base = (name: string) => name.replace(/Input$/, "");
  const isMerged = (name: string) =>
    name !== base(name) &&
    JSON.stringify(plainSchemas[name]) === JSON.stringify(plainSchemas[base(name)] ?? "");
  const merged = Object.keys(plainSchemas).filter(isMerged);
  const links = new RegExp(`#/components/schemas/(${merged.map(base).join("|")})Input"`, "g");
  const kept = Object.entries(plainSchemas).filter(([name]) => !merged.includes(name));
  return JSON.parse(JSON.stringify(Object.fromEntries(kept)).replace(links, '#/components/schemas/$1"'));
}

/** Handles only keywords whose value is an array, because a field can also be named `type`. */
function dropNull(node: unknown): unknown {
  const { type, anyOf } = (node ?? {}) as { type?: unknown; anyOf?: unknown };
  if (Array.isArray(type) && type.includes("null")) {
    const [single] = type.filter((each) => each !== "null");
    return { ...(node as Schema), type: single };
  }
  if (!Array.isArray(anyOf) || !anyOf.some((each) => each.type === "null")) return node;
  const { anyOf: _, ...rest } = node as Schema;
  const variants = anyOf.filter((each) => each.type !== "null");
  return { ...rest, ...(variants.length === 1 ? variants[0] : { anyOf: variants }) };
}

interface Condition {
  required?: string[];
  properties: Record<string, { type: string; required?: string[]; properties?: object }>;
}

/** Turns a condition into a union of which types can express that a field must be absent. */
function toUnion(node: unknown): unknown {
  if (typeof node !== "object" || node === null || !("if" in node && "then" in node && "else" in node))
    return node;
  const { if: condition, then, else: otherwise, ...rest } = node as Record<string, Condition>;
  const [first, second] = [then as Condition, otherwise as Condition];
  const { required, properties } = condition as Condition;
  return {
    ...rest,
    oneOf: [
      { required, properties: withoutNullTypes({ ...properties, ...first.properties }) },
      { required: second.required, properties: withoutNullTypes(second.properties) },
    ],
  };
}

/** A property that must be null in a request must be absent in TypeScript. */
function withoutNullTypes(properties: Condition["properties"]): object {
  const entries = Object.entries(properties).map(([name, { type, required, properties: inner }]) => [
    name,
    type === "null" ? false : { type, required, properties: inner },
  ]);
  return Object.fromEntries(entries);
}

/** Skips properties, because a field can be named `format`. */
function members(properties: object): object {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, plain(schema)]));
}

const schemas = members({ ...withoutNulls(document.components.schemas), ...queries() });
const reduced = { openapi: document.openapi, info: document.info, paths: {}, components: { schemas } };
const written = astToString(await openapiTS(JSON.stringify(reduced), { defaultNonNullable: false }));
const body = written.slice(
  written.indexOf("    schemas: {\n") + 15,
  written.indexOf("    };\n    responses: "),
);
const models = body
  .replaceAll(/components\["schemas"\]\["(\w+)"\]/g, "$1")
  .replaceAll(/ *\/\*\*(?:(?!\*\/).)*?discriminator enum property(?:(?!\*\/).)*?\*\/\n/gs, "")
  .replaceAll(/\n *\* @enum \{\w+\}(?=\n)/g, "")
  .replaceAll(/^ *\/\*\* @enum \{\w+\} \*\/\n/gm, "")
  .replaceAll("@description ", "")
  .replaceAll(/\/\*\*\n *\* (.*)\n *\*\//g, "/** $1 */")
  .replaceAll(/^ {8}(\w+): \{\n((?: {9}.*\n)*) {8}\};$/gm, "        export interface $1 {\n$2        }\n")
  .replaceAll(/^ {8}(\w+): /gm, "        export type $1 = ")
  .replaceAll(/^ {8}( *)/gm, (_, inner: string) => " ".repeat(inner.length / 2))
  .replaceAll(/^(.*);$/gm, (line) =>
    line.startsWith("}") || line.startsWith("export") ? `${line}\n` : line,
  );
const text = `// Generated by scripts/generate.ts from openapi.json. Do not edit; change the contract instead.\n\n${models.trimEnd()}\n`;

if (!process.argv.includes("--check")) {
  writeFileSync(file, text);
} else if (readFileSync(file, "utf8") !== text) {
  console.error("The SDK models are out of date. Run `node packages/sdk/scripts/generate.ts`.");
  process.exit(1);
}
