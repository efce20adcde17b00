import { read } from "@outrider/contract/fault";
import { limits } from "@outrider/contract/limits";
import type { z } from "zod";
import { Refusal } from "../engine/refusal.ts";

/** Reads a value by its schema; a refusal names every member that does not fit, and the remedy. */
export function parse<T extends z.ZodType>(schema: T, value: unknown, place: "body" | "query"): z.infer<T> {
  const result = read(schema, value, place);
  if ("data" in result) return result.data;
  const { faults } = result;
  const [first] = faults;
  const atLeast = faults.length === limits.faults ? "at least " : "";
  const more = faults.length > 1 ? ` (and ${atLeast}${faults.length - 1} more)` : "";
  const subject = first.pointer === "" ? "The body" : `\`${first.pointer}\``;
  throw new Refusal("invalid_request", `${subject} ${first.message}${more}.`, faults);
}
