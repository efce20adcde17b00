import { createContext, runInContext } from "node:vm";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { Failure, messageOf } from "./failure.ts";

/** A schema's patterns are the caller's, and a pattern can take for ever, while nobody else's run goes on. */
const CHECK_MS = 1_000;
/** So much is enough for a model to mend, and no answer makes the transcript endless. */
const MOST = 10;

/** What an answer has wrong, by paths; nothing where it fits. */
export type AnswerCheck = (answer: unknown) => string[];

/** Fails where nothing can be checked by the schema. */
export function answerCheck({ $schema, ...schema }: Record<string, unknown>): AnswerCheck {
  const isOld = typeof $schema === "string" && /draft-0[4-7]/.test($schema);
  const ajv = new (isOld ? Ajv : Ajv2020)({ allErrors: true, strict: false });
  formats.default(ajv);
  const fits = compiled(() => ajv.compile(schema));
  return (answer) => {
    try {
      if (inTime(() => fits(answer))) return [];
    } catch (error) {
      if (!isTimeout(error)) throw error;
      return [`it could not be checked within ${CHECK_MS / 1000} second`];
    }
    const errors = fits.errors ?? [];
    const named = errors.slice(0, MOST).map(sentence);
    return errors.length > MOST ? [...named, `and ${errors.length - MOST} more`] : named;
  };
}

function compiled<T>(compile: () => T): T {
  try {
    return inTime(compile);
  } catch (error) {
    throw new Failure("output_invalid", `The run's output_schema cannot be used: ${messageOf(error)}`);
  }
}

/** Of all that runs on this thread only what is called from such a context can be stopped in its midst. */
function inTime<T>(work: () => T): T {
  return runInContext("work()", createContext({ work }), { timeout: CHECK_MS }) as T;
}

function isTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}

function sentence({
  instancePath,
  message = "is wrong",
  params,
}: {
  instancePath: string;
  message?: string;
  params: Record<string, unknown>;
}): string {
  const { additionalProperty, allowedValues, allowedValue } = params;
  const detail = additionalProperty ?? allowedValues ?? allowedValue;
  return `${instancePath || "the whole"} ${message}${detail === undefined ? "" : ` (${JSON.stringify(detail)})`}`;
}
