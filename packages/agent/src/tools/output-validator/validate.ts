import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { messageOf } from "../../failure.ts";

/** Enough errors for the model to correct its answer, but too few to flood the transcript. */
const MAX_ERRORS = 10;
/** An error quotes names from the answer or from the schema, which can be of any length. */
const MAX_ERROR_CHARACTERS = 500;

export interface ValidationRequest {
  schema: Record<string, unknown>;
  /** Absent if only the schema is checked. The answer itself can be undefined. */
  answer?: { value: unknown };
}

export type ValidationResult =
  | { type: "unusable"; reason: string }
  /** The problems with the answer, including their paths. The list is empty if the answer is valid. */
  | { type: "validated"; problems: string[] };

/** Blocks the thread for as long as the caller's schema takes. */
export function validate({ schema, answer }: ValidationRequest): ValidationResult {
  const check = compile(schema);
  if (typeof check === "string") return { type: "unusable", reason: check };
  if (!answer || check(answer.value)) return { type: "validated", problems: [] };
  const errors = check.errors ?? [];
  const problems = errors.slice(0, MAX_ERRORS).map(describeError);
  if (errors.length > MAX_ERRORS) problems.push(`and ${errors.length - MAX_ERRORS} more`);
  return { type: "validated", problems };
}

function compile({ $schema, ...schema }: Record<string, unknown>) {
  const isOldDraft = typeof $schema === "string" && /draft-0[4-7]/.test($schema);
  const ajv = new (isOldDraft ? Ajv : Ajv2020)({ allErrors: true, strict: false });
  formats.default(ajv);
  try {
    return ajv.compile(schema);
  } catch (error) {
    return messageOf(error).slice(0, MAX_ERROR_CHARACTERS);
  }
}

function describeError({
  instancePath,
  message = "is invalid",
  params,
}: {
  instancePath: string;
  message?: string;
  params: Record<string, unknown>;
}): string {
  const { additionalProperty, allowedValues, allowedValue } = params;
  const detail = additionalProperty ?? allowedValues ?? allowedValue;
  const quote = detail === undefined ? "" : ` (${JSON.stringify(detail)})`;
  return `${instancePath || "the answer"} ${message}${quote}`.slice(0, MAX_ERROR_CHARACTERS);
}
