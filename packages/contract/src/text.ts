import { z } from "zod";

const encoder = new TextEncoder();

export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** Lengths are counted as JSON Schema counts them, in code points; `bytes` bounds the UTF-8 form as well. */
export function text(bounds: { min?: number; max?: number; bytes?: number } = {}) {
  const { min = 1, max, bytes } = bounds;
  return z
    .string()
    .superRefine((value, context) => {
      const characters = [...value].length;
      if (characters < min) {
        context.addIssue(min === 1 ? "must not be empty" : `must have at least ${min} characters`);
      }
      if (max !== undefined && characters > max) {
        context.addIssue(`has ${characters} characters; at most ${max} are allowed`);
      }
      if (bytes !== undefined && value.length * 3 > bytes && byteLength(value) > bytes) {
        context.addIssue(`has ${byteLength(value)} bytes; at most ${bytes} are allowed`);
      }
    })
    .meta({ minLength: min, ...((max ?? bytes) ? { maxLength: max ?? bytes } : {}) });
}

export function pattern(regex: RegExp, remedy: string) {
  return z.string().regex(regex, { error: remedy });
}

export const Uuid = z.uuid().toLowerCase().meta({ description: "A UUID; the service makes version 7." });

export const Timestamp = z.iso.datetime({ offset: true }).meta({
  description: "RFC 3339, UTC, with milliseconds.",
  examples: ["2026-01-31T09:30:00.000Z"],
});

/** A time that PostgreSQL can hold, from what a caller wrote; undefined where it is none. */
export function parseTime(value: string): Date | undefined {
  const time = new Date(value);
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time : undefined;
}

/** A name that a shell can hold as a variable. */
export const VariableName = pattern(
  /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
  "must be a variable name: letters, digits and underscores, not beginning with a digit",
);
