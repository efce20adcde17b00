import type { z } from "zod";
import { limits } from "../limits.ts";
import { editDistance } from "./edit-distance.ts";

/**
 * Validates request bodies and query strings, and turns zod's issues into messages for API callers.
 *
 * Each message completes a sentence that starts with the name of the field: "`/limit` must be at most 500". For an
 * unknown field, the message suggests the most similar known name. The number of errors and the length of names are
 * limited, because the caller controls both.
 */

/** Describes the problem with one field. */
export interface FieldError {
  /** A JSON pointer, or the name of a parameter. */
  pointer: string;
  message: string;
}

/** `patch` is a body in which null clears a field. */
type Location = "body" | "patch" | "query";

const MAX_NAME_LENGTH = 200;

/** Parses a value with a schema. Returns the parsed data, or one error for each invalid field. */
export function validate<T extends z.ZodType>(
  schema: T,
  value: unknown,
  location: Location,
): { data: z.infer<T> } | { errors: [FieldError, ...FieldError[]] } {
  const error = location === "patch" ? patchMessageOf : messageOf;
  const result = schema.safeParse(value, { error });
  if (result.success) return { data: result.data };
  const issues = result.error.issues.slice(0, limits.fieldErrors);
  const errors = issues.flatMap((issue) => toFieldErrors(issue, [], location));
  return { errors: errors.slice(0, limits.fieldErrors) as [FieldError, ...FieldError[]] };
}

function toFieldErrors(issue: z.core.$ZodIssue, base: PropertyKey[], location: Location): FieldError[] {
  const path = [...base, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    const messages = issue.message.split("\n");
    return reportedKeys(issue.keys).map((key, index) => ({
      pointer: pointerTo([...path, key], location),
      message: messages[index] ?? "",
    }));
  }
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    // Report the variant that the caller most likely meant: one of the right type, with the fewest and deepest issues.
    const [closest = []] = [...issue.errors].sort(
      (a, b) => Number(isOtherType(a)) - Number(isOtherType(b)) || a.length - b.length || depth(b) - depth(a),
    );
    return closest.flatMap((inner) => toFieldErrors(inner, path, location));
  }
  if (issue.code === "invalid_key") {
    const message = issue.issues[0]?.message ?? issue.message;
    return [{ pointer: pointerTo(path, location), message: `has an invalid name: it ${message}` }];
  }
  return [{ pointer: pointerTo(path, location), message: issue.message }];
}

function isOtherType(issues: z.core.$ZodIssue[]): boolean {
  return issues.some(({ code, path }) => code === "invalid_type" && path.length === 0);
}

function depth(issues: z.core.$ZodIssue[]): number {
  return Math.max(...issues.map((issue) => issue.path.length));
}

function pointerTo(path: PropertyKey[], location: Location): string {
  const parts = path.map((part) => truncateName(String(part)).replaceAll("~", "~0").replaceAll("/", "~1"));
  if (location !== "query") return parts.map((part) => `/${part}`).join("");
  return parts.reduce((name, part) => (name ? `${name}[${part}]` : part), "");
}

/** Limits how many unknown keys are reported, because each one requires a search for the most similar name. */
function reportedKeys(keys: string[]): string[] {
  return keys.slice(0, limits.fieldErrors);
}

/** Shortens a name for use in an error, because callers can send names as long as the request body. */
export function truncateName(name: string): string {
  return name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
}

type RawIssue = z.core.$ZodRawIssue;

/** Explains a null for a field whose schema does not allow it, that is, a field that cannot be cleared. */
function patchMessageOf(issue: RawIssue): string | undefined {
  const isCleared = issue.input === null && issue.path?.length === 1;
  return isCleared ? "cannot be cleared; omit it to keep its value" : messageOf(issue);
}

function messageOf(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case "unrecognized_keys":
      return reportedKeys(issue.keys)
        .map((key) => unknownKeyMessage(key, issue))
        .join("\n");
    case "invalid_type":
      return issue.input === undefined ? "is required" : `must be ${typeWithArticle(issue.expected)}`;
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map((value) => `\`${String(value)}\``).join(", ")}`;
    case "too_big":
      return boundMessage("at most", Number(issue.maximum), issue.origin);
    case "too_small":
      return boundMessage("at least", Number(issue.minimum), issue.origin);
    case "invalid_format":
      return formatMessages[issue.format];
    default:
      return undefined;
  }
}

const formatMessages: Record<string, string> = {
  base64: "must be base64-encoded",
  uuid: "must be a UUID",
  datetime: "must be a timestamp such as 2026-01-31T09:30:00Z",
};

function boundMessage(bound: string, count: number, origin: string): string {
  if (origin === "array") return `must have ${bound} ${count} ${count === 1 ? "item" : "items"}`;
  if (origin === "string") return `must have ${bound} ${count} ${count === 1 ? "character" : "characters"}`;
  return `must be ${bound} ${count}`;
}

function typeWithArticle(type: string): string {
  const names: Record<string, string> = {
    record: "an object",
    object: "an object",
    array: "an array",
    int: "an integer",
  };
  return names[type] ?? `a ${type}`;
}

function unknownKeyMessage(key: string, issue: RawIssue): string {
  const shape = (issue.inst as z.core.$ZodObject | undefined)?._zod.def.shape ?? {};
  const nearest = nearestName(key, Object.keys(shape));
  return nearest ? `is unknown (did you mean \`${nearest}\`?)` : "is unknown";
}

/** Longer names are not compared, because they are unlikely to be typos and comparing them is slow. */
const MAX_COMPARED_LENGTH = 64;

/** Returns the most similar known name, if the given name is likely to be a typo of it. */
export function nearestName(name: string, known: string[]): string | undefined {
  const ranked = known.map((candidate) => ({
    candidate,
    edits: name.length > MAX_COMPARED_LENGTH ? name.length : editDistance(name.toLowerCase(), candidate),
  }));
  ranked.sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best && best.edits <= Math.max(2, Math.floor(name.length / 3)) ? best.candidate : undefined;
}
