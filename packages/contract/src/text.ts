import { z } from "zod";

const encoder = new TextEncoder();

export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/**
 * Creates a string schema with length limits. `min` and `max` count code points, as in JSON Schema. `bytes` limits the
 * UTF-8 length.
 */
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
        context.addIssue(`must have at most ${max} characters, but has ${characters}`);
      }
      if (bytes !== undefined && value.length * 3 > bytes && byteLength(value) > bytes) {
        context.addIssue(`must have at most ${bytes} bytes, but has ${byteLength(value)}`);
      }
    })
    .meta({ minLength: min, ...((max ?? bytes) ? { maxLength: max ?? bytes } : {}) });
}

export function pattern(regex: RegExp, message: string) {
  return z.string().regex(regex, { error: message });
}

export const Uuid = z.uuid().toLowerCase().meta({ description: "A UUID. The service generates version 7." });

export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const Timestamp = z.iso.datetime({ offset: true }).meta({
  description: "RFC 3339 timestamp in UTC, with milliseconds.",
  examples: ["2026-01-31T09:30:00.000Z"],
});

/** Parses a time. Returns undefined if it is invalid or outside the range that PostgreSQL can store. */
export function parseTime(value: string): Date | undefined {
  const time = new Date(value);
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time : undefined;
}

export const VariableName = pattern(
  /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
  "must be a variable name: letters, digits and underscores, not starting with a digit",
);
