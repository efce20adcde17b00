import { truncateName } from "@outrider/contract/errors/field-error";
import { ApiError, invalidField } from "../../engine/api-error.ts";
import { callerLimits, type JsonLimits, requireUniqueNames, requireWithinLimits } from "./json-checks.ts";

/**
 * Parses a JSON request body, and rejects everything that PostgreSQL could not store and return unchanged: invalid
 * UTF-8, strings with a NUL character or an unpaired surrogate, and objects with a duplicate field.
 *
 * Bodies that pass are the usual case, so they are checked with little work. The checks that find out what exactly is wrong
 * with a body, and where, only run for one that is wrong.
 */

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

export function readJson(body: Buffer, limits: JsonLimits = callerLimits): unknown {
  let text: string;
  try {
    text = decoder.decode(body);
  } catch {
    throw new ApiError("invalid_request", "The body is not valid UTF-8.");
  }
  const { fields } = requireWithinLimits(text, limits);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ApiError("invalid_request", `The body is not valid JSON${positionIn(error)}.`);
  }
  const storedFields = countFields(value);
  if (storedFields === undefined) requireStorable(value);
  // The parser keeps only one of the fields with the same name.
  if (storedFields !== fields) requireUniqueNames(text);
  return value;
}

/** Extracts only the position of a syntax error, because the parser's full message quotes the body. */
function positionIn(error: unknown): string {
  const position = /at position \d+( \(line \d+ column \d+\))?/.exec(String(error));
  return position ? ` (${position[0]})` : "";
}

/** Counts the fields of all objects. Returns undefined if `requireStorable` rejects the value. Does not recurse either. */
function countFields(root: unknown): number | undefined {
  let fields = 0;
  const pending = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value === "string" && !isStorableText(value)) return undefined;
    if (typeof value === "number" && !Number.isFinite(value)) return undefined;
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) {
      for (const inner of value) pending.push(inner);
      continue;
    }
    for (const name of Object.keys(value)) {
      if (name === "__proto__" || !isStorableText(name)) return undefined;
      pending.push((value as Record<string, unknown>)[name]);
      fields++;
    }
  }
  return fields;
}

/** Rejects strings that PostgreSQL cannot store. Does not recurse: a deeply nested body would overflow the stack. */
function requireStorable(root: unknown) {
  const pending: { value: unknown; pointer: string }[] = [{ value: root, pointer: "" }];
  for (let item = pending.pop(); item; item = pending.pop()) {
    const { value, pointer } = item;
    if (typeof value === "string") requireStorableText(value, pointer);
    else if (typeof value === "number" && !Number.isFinite(value))
      throw invalidField(pointer, "must be a finite number");
    else if (typeof value === "object" && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        const innerPointer = `${pointer}/${truncateName(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
        if (!Array.isArray(value)) {
          requireStorableText(key, pointer);
          if (key === "__proto__") throw invalidField(pointer, "must not contain a field named `__proto__`");
        }
        pending.push({ value: inner, pointer: innerPointer });
      }
    }
  }
}

function isStorableText(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

export function requireStorableText(text: string, pointer: string) {
  if (text.includes("\0")) throw invalidField(pointer, "must not contain a NUL character");
  if (!text.isWellFormed()) throw invalidField(pointer, "must not contain an unpaired surrogate");
}
