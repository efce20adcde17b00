import type { z } from "zod";
import { distance } from "./distance.ts";
import { limits } from "./limits.ts";

/** What is wrong with one member. */
export interface Fault {
  /** A JSON pointer, or the name of a parameter. */
  pointer: string;
  message: string;
}

type Place = "body" | "query";

const LONGEST_NAME = 200;

/** Reads a value by its schema, or says of every member that does not fit what is wrong, with the nearest known name. */
export function read<T extends z.ZodType>(
  schema: T,
  value: unknown,
  place: Place,
): { data: z.infer<T> } | { faults: [Fault, ...Fault[]] } {
  const result = schema.safeParse(value, { error: messageOf });
  if (result.success) return { data: result.data };
  const faults = result.error.issues.slice(0, limits.faults).flatMap((issue) => faultsOf(issue, [], place));
  return { faults: faults.slice(0, limits.faults) as [Fault, ...Fault[]] };
}

function faultsOf(issue: z.core.$ZodIssue, base: PropertyKey[], place: Place): Fault[] {
  const path = [...base, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    const hints = issue.message.split("\n");
    return named(issue.keys).map((key, index) => ({
      pointer: pointerTo([...path, key], place),
      message: hints[index] ?? "",
    }));
  }
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    // The variant that fits best is the one that was meant; one of another kind fits worst.
    const [nearest = []] = [...issue.errors].sort(
      (a, b) => Number(isOtherKind(a)) - Number(isOtherKind(b)) || a.length - b.length || depth(b) - depth(a),
    );
    return nearest.flatMap((inner) => faultsOf(inner, path, place));
  }
  if (issue.code === "invalid_key") {
    const message = issue.issues[0]?.message ?? issue.message;
    return [{ pointer: pointerTo(path, place), message: `has a name that ${message}` }];
  }
  return [{ pointer: pointerTo(path, place), message: issue.message }];
}

function isOtherKind(issues: z.core.$ZodIssue[]): boolean {
  return issues.some(({ code, path }) => code === "invalid_type" && path.length === 0);
}

function depth(issues: z.core.$ZodIssue[]): number {
  return Math.max(...issues.map((issue) => issue.path.length));
}

function pointerTo(path: PropertyKey[], place: Place): string {
  const parts = path.map((part) => cut(String(part)).replaceAll("~", "~0").replaceAll("/", "~1"));
  if (place === "body") return parts.map((part) => `/${part}`).join("");
  return parts.reduce((name, part) => (name ? `${name}[${part}]` : part), "");
}

/** Of many the first: who has sent ten thousand knows what to do after fifty, and each costs a search for its nearest. */
function named(keys: string[]): string[] {
  return keys.slice(0, limits.faults);
}

/** A name may be as long as the body; a refusal is not. */
export function cut(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}

type RawIssue = z.core.$ZodRawIssue;

function messageOf(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case "unrecognized_keys":
      return named(issue.keys)
        .map((key) => unknownMember(key, issue))
        .join("\n");
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${article(issue.expected)}`;
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map((value) => `\`${String(value)}\``).join(", ")}`;
    case "too_big":
      return `must ${bound(issue)} at most ${issue.maximum}`;
    case "too_small":
      return `must ${bound(issue)} at least ${issue.minimum}`;
    case "invalid_format":
      return formats[issue.format];
    default:
      return undefined;
  }
}

const formats: Record<string, string> = {
  base64: "must be base64",
  uuid: "must be a UUID",
  datetime: "must be a time like 2026-01-31T09:30:00Z",
};

function bound({ origin }: { origin: string }): string {
  if (origin === "array") return "have";
  return origin === "string" ? "have a length of" : "be";
}

function article(type: string): string {
  const names: Record<string, string> = {
    record: "an object",
    object: "an object",
    array: "an array",
    int: "a whole number",
  };
  return names[type] ?? `a ${type}`;
}

function unknownMember(key: string, issue: RawIssue): string {
  const shape = (issue.inst as z.core.$ZodObject | undefined)?._zod.def.shape ?? {};
  const nearest = nearestName(key, Object.keys(shape));
  return nearest ? `is not known (did you mean \`${nearest}\`?)` : "is not known";
}

/** Nobody mistypes a name into something so long. */
const LONGEST_SLIP = 64;

/** The known name with the fewest edits, if it is near enough to be a slip. */
export function nearestName(name: string, known: string[]): string | undefined {
  const ranked = known.map((candidate) => ({
    candidate,
    edits: name.length > LONGEST_SLIP ? name.length : distance(name.toLowerCase(), candidate),
  }));
  ranked.sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best && best.edits <= Math.max(2, Math.floor(name.length / 3)) ? best.candidate : undefined;
}
