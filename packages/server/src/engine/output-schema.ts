import { Ajv, type ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { badMember } from "./refusal.ts";

/** Which formats there are, and what else a schema says besides, is the agent's concern; it only has to be one. */
const options = { strict: false, validateFormats: false, logger: false } as const;

const usual = "https://json-schema.org/draft/2020-12/schema";
const dialects = {
  [usual]: new Ajv2020(options),
  "http://json-schema.org/draft-07/schema": new Ajv(options),
};

/**
 * Refuses what is no JSON Schema, at the member that is wrong. It is not compiled: that takes a second for some that are
 * small enough to be sent, and everybody else would wait.
 */
export function requireSchema(schema: Record<string, unknown>, pointer: string) {
  const name = String(schema.$schema ?? usual).replace(/#$/, "");
  if (!Object.hasOwn(dialects, name)) {
    const known = Object.keys(dialects).map((one) => `\`${one}\``);
    throw badMember(`${pointer}/$schema`, `must be one of ${known.join(", ")}, or be left out`);
  }
  const ajv = dialects[name as keyof typeof dialects] as Ajv;
  if (!ajv.validateSchema(schema)) {
    const [first] = ajv.errors as [ErrorObject];
    throw badMember(`${pointer}${first.instancePath}`, `is no JSON Schema: it ${first.message}`);
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

/** What stands below these is somebody's data and no schema. */
const data = new Set(["const", "enum", "default", "examples"]);

function* partsOf(value: unknown, pointer: string): Generator<Part> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { value: value as Record<string, unknown>, pointer };
  for (const [name, inner] of Object.entries(value)) {
    if (!data.has(name))
      yield* partsOf(inner, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
}

function requirePattern({ value, pointer }: Part) {
  const { pattern, patternProperties } = value;
  const patterns = [
    ...(typeof pattern === "string" ? [[pattern, `${pointer}/pattern`] as const] : []),
    ...Object.keys(isObject(patternProperties) ? patternProperties : {}).map(
      (one) => [one, `${pointer}/patternProperties`] as const,
    ),
  ];
  for (const [one, place] of patterns) {
    try {
      new RegExp(one, "u");
    } catch {
      throw badMember(place, `holds \`${one.slice(0, 100)}\`, which is no regular expression`);
    }
  }
}

/** A reference must lead to something in the schema itself: nothing is fetched from elsewhere. */
function requireTarget({ value, pointer }: Part, root: Record<string, unknown>, names: Set<unknown>) {
  const { $ref: ref } = value;
  if (typeof ref !== "string" || ref === "#") return;
  const isKnown = ref.startsWith("#/") ? lookUp(root, ref.slice(2)) !== undefined : names.has(ref);
  if (isKnown) return;
  throw badMember(
    `${pointer}/$ref`,
    `leads to nothing in the schema: \`${ref.slice(0, 200)}\`; put it below \`$defs\``,
  );
}

function lookUp(root: unknown, path: string): unknown {
  let place: unknown = root;
  for (const step of path.split("/")) {
    const name = unescaped(step);
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, name)) return undefined;
    place = (place as Record<string, unknown>)[name];
  }
  return place;
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return step;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
