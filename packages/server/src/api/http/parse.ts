import { validate } from "@outrider/contract/errors/field-error";
import { limits } from "@outrider/contract/limits";
import type { z } from "zod";
import { ApiError } from "../../engine/api-error.ts";

/** Parses a value with its schema. Throws an error that lists all invalid fields and says how to fix each one. */
export function parse<T extends z.ZodType>(
  schema: T,
  value: unknown,
  source: "body" | "patch" | "query",
): z.infer<T> {
  const result = validate(schema, value, source);
  if ("data" in result) return result.data;
  const { errors } = result;
  const [first] = errors;
  const atLeast = errors.length === limits.fieldErrors ? "at least " : "";
  const more = errors.length > 1 ? ` (and ${atLeast}${errors.length - 1} more)` : "";
  const subject = first.pointer === "" ? "The body" : `\`${first.pointer}\``;
  throw new ApiError("invalid_request", `${subject} ${first.message}${more}.`, errors);
}
