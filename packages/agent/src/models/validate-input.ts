import { validate } from "@outrider/contract/errors/field-error";
import type { z } from "zod";
import { findExcess } from "../json-meter.ts";

/** Each round of repairs reveals at most one more level of invalid fields. */
const MAX_ROUNDS = 4;
const MAX_PROBLEMS = 3;
const valueLimits = { depth: 40, values: 5_000 };

/**
 * Validates the input of one of our own tools. Repairs fields that the model sent as JSON strings although the schema
 * requires another type, and removes nulls that stand for absent fields.
 */
export function validateOwnInput(
  input: Record<string, unknown>,
  schema: z.ZodType,
): { data: unknown } | { problems: string } {
  let repaired: unknown = input;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { success, data, error } = schema.safeParse(repaired);
    if (success) return { data };
    const next = error.issues.reduce(repairIssue, structuredClone(repaired));
    if (JSON.stringify(next) === JSON.stringify(repaired)) break;
    repaired = next;
  }
  // The model reads about its own input, not about a half-repaired one.
  const result = validate(schema, input, "body");
  return "data" in result ? result : { problems: describeProblems(result.errors) };
}

/**
 * Repairs the input of a tool whose schema Outrider does not define. It is otherwise not validated: the tool does that
 * itself.
 */
export function validateForeignInput(
  input: Record<string, unknown>,
  schema: Record<string, unknown>,
): Record<string, unknown> {
  const { properties } = schema;
  if (!isObject(properties)) return input;
  const repaired = Object.entries(input).map(([name, value]) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const type = isObject(property) ? property.type : undefined;
    return [name, typeof value === "string" && typeof type === "string" ? parseAs(value, type) : value];
  });
  return Object.fromEntries(repaired);
}

/** Changes the field that an issue is about, if its value is a string with a value of the expected type, or null. */
function repairIssue(input: unknown, issue: z.core.$ZodIssue): unknown {
  if (issue.code !== "invalid_type") return input;
  const name = issue.path.at(-1);
  const parent = issue.path.slice(0, -1).reduce(fieldOf, input);
  if (name === undefined || typeof parent !== "object" || parent === null) return input;
  const fields = parent as Record<PropertyKey, unknown>;
  const value = fieldOf(parent, name);
  if (typeof value === "string") fields[name] = parseAs(value, issue.expected);
  if (value === null && isObject(parent)) delete fields[name];
  return input;
}

function fieldOf(value: unknown, name: PropertyKey): unknown {
  const hasField = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return hasField ? (value as Record<PropertyKey, unknown>)[name] : undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value of this type that the text contains as JSON, or else the text itself. */
function parseAs(text: string, type: string): unknown {
  if (findExcess(text, valueLimits) !== undefined) return text;
  const value = parseJson(text);
  if (isOfType(value, type)) return value;
  // Models trained on Python write booleans with a capital letter.
  const isBoolean = type === "boolean" && /^(true|false)$/i.test(text);
  return isBoolean ? text.toLowerCase() === "true" : text;
}

/** Returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    // A field of this name would replace the prototype wherever the object is copied field by field. It can also be
    // written with escapes. Looking at every field takes much longer than parsing, so it is done only if necessary.
    if (!/__proto__|\\u/.test(text)) return JSON.parse(text);
    return JSON.parse(text, (key, value: unknown) => (key === "__proto__" ? undefined : value));
  } catch {
    return undefined;
  }
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "array":
      return Array.isArray(value);
    case "object":
    case "record":
      return isObject(value);
    case "number":
      return typeof value === "number";
    case "int":
    case "integer":
      return Number.isInteger(value);
    case "boolean":
      return typeof value === "boolean";
    default:
      return false;
  }
}

function describeProblems(errors: readonly { pointer: string; message: string }[]): string {
  const problems = errors
    .slice(0, MAX_PROBLEMS)
    .map(({ pointer, message }) => `\`${pointer.slice(1) || "input"}\` ${message}`);
  const more = errors.length > MAX_PROBLEMS ? [`and ${errors.length - MAX_PROBLEMS} more`] : [];
  return [...problems, ...more].join(", ");
}
