import { Ajv, type ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { invalidField } from "../api-error.ts";

/** Unknown keywords and formats are accepted because the agent interprets them. */
const options = { strict: false, validateFormats: false, logger: false } as const;

const defaultDialect = "https://json-schema.org/draft/2020-12/schema";
const dialects = {
  [defaultDialect]: new Ajv2020(options),
  "http://json-schema.org/draft-07/schema": new Ajv(options),
};

/**
 * Throws if a value is not a valid JSON Schema. It does not compile the schema, because compiling even a small but
 * complex schema can block the event loop for a second.
 */
export function requireSchema(schema: Record<string, unknown>, pointer: string) {
  const name = String(schema.$schema ?? defaultDialect).replace(/#$/, "");
  if (!Object.hasOwn(dialects, name)) {
    const known = Object.keys(dialects).map((dialect) => `\`${dialect}\``);
    throw invalidField(`${pointer}/$schema`, `must be one of ${known.join(", ")}, or omitted`);
  }
  const ajv = dialects[name as keyof typeof dialects] as Ajv;
  if (!ajv.validateSchema(schema)) {
    const [first] = ajv.errors as [ErrorObject];
    throw invalidField(`${pointer}${first.instancePath}`, `is not a valid JSON Schema: it ${first.message}`);
  }
  const parts = [...partsOf(schema, pointer)];
  const names = new Set(parts.flatMap(({ value: { $anchor, $id } }) => [`#${$anchor}`, $id]));
  for (const part of parts) {
    requirePattern(part);
    requireTarget(part, schema, names);
  }
}

interface Part {
  value: Record<string, unknown>;
  pointer: string;
}

/** Keywords whose values are data, not schemas. */
const dataKeywords = new Set(["const", "enum", "default", "examples"]);

function* partsOf(value: unknown, pointer: string): Generator<Part> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { value: value as Record<string, unknown>, pointer };
  for (const [name, inner] of Object.entries(value)) {
    if (!dataKeywords.has(name))
      yield* partsOf(inner, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
}

function requirePattern({ value, pointer }: Part) {
  const { pattern, patternProperties } = value;
  const patterns = [
    ...(typeof pattern === "string" ? [[pattern, `${pointer}/pattern`] as const] : []),
    ...Object.keys(isObject(patternProperties) ? patternProperties : {}).map(
      (property) => [property, `${pointer}/patternProperties`] as const,
    ),
  ];
  for (const [source, location] of patterns) {
    try {
      new RegExp(source, "u");
    } catch {
      throw invalidField(location, `contains \`${source.slice(0, 100)}\`, which is not a regular expression`);
    }
  }
}

/** Throws if a reference does not resolve within the schema. Remote schemas are never fetched. */
function requireTarget({ value, pointer }: Part, root: Record<string, unknown>, names: Set<unknown>) {
  const { $ref: ref } = value;
  if (typeof ref !== "string" || ref === "#") return;
  const isKnown = ref.startsWith("#/") ? lookUp(root, ref.slice(2)) !== undefined : names.has(ref);
  if (isKnown) return;
  throw invalidField(
    `${pointer}/$ref`,
    `does not resolve within the schema: \`${ref.slice(0, 200)}\`; define it in \`$defs\``,
  );
}

function lookUp(root: unknown, path: string): unknown {
  let current: unknown = root;
  for (const step of path.split("/")) {
    const name = unescapePointer(step);
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, name)) return undefined;
    current = (current as Record<string, unknown>)[name];
  }
  return current;
}

function unescapePointer(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return step;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
