import { parentPort, workerData } from "node:worker_threads";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { AnswerToCheck, CheckResult } from "./answer-check.ts";
import { messageOf } from "./failure.ts";

/** So much is enough for a model to mend, and no answer makes the transcript endless. */
const MOST = 10;

parentPort?.postMessage(check(workerData as AnswerToCheck));

function check({ schema: { $schema, ...schema }, answer }: AnswerToCheck): CheckResult {
  const isOld = typeof $schema === "string" && /draft-0[4-7]/.test($schema);
  const ajv = new (isOld ? Ajv : Ajv2020)({ allErrors: true, strict: false, validateFormats: true });
  formats.default(ajv);
  let fits: ReturnType<typeof ajv.compile>;
  try {
    fits = ajv.compile(schema);
  } catch (error) {
    return { unusable: messageOf(error) };
  }
  if (fits(answer)) return { wrong: [] };
  const errors = fits.errors ?? [];
  const named = errors.slice(0, MOST).map(sentence);
  return { wrong: errors.length > MOST ? [...named, `and ${errors.length - MOST} more`] : named };
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
