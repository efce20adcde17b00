import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

/** Writes src/generated/models.ts from openapi.json; with --check only tells whether it is up to date. */

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

/** Queries become models: `listRuns` gives `ListRunsQuery`. The rest of the paths would triple what a package carries. */
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

/** Without what no type can say: it would only be repeated in comments. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const { format: _, examples: __, ...rest } = value as Record<string, unknown>;
  const says = (each: unknown) => Object.keys(plain(each) as object).length > 0;
  if (Array.isArray(rest.anyOf) && !rest.anyOf.some(says)) delete rest.anyOf;
  return Object.fromEntries(
    Object.entries(rest).map(([key, each]) => [
      key,
      key === "properties" ? members(each as object) : plain(each),
    ]),
  );
}

/** A member may itself be called `format`. */
function members(properties: object): object {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, plain(schema)]));
}

const schemas = members({ ...document.components.schemas, ...queries() });
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
const text = `// Written by scripts/generate.ts from openapi.json. Change the contract, not this file.\n\n${models.trimEnd()}\n`;

if (!process.argv.includes("--check")) {
  writeFileSync(file, text);
} else if (readFileSync(file, "utf8") !== text) {
  console.error("The SDK's models differ from openapi.json: run `node packages/sdk/scripts/generate.ts`.");
  process.exit(1);
}
