import { Failure } from "../../failure.ts";
import { JobThreads } from "../../threads/job-threads.ts";
import type { ValidationRequest, ValidationResult } from "./validate.ts";

const threads = new JobThreads<ValidationRequest, ValidationResult>({
  program: new URL("./validator-program.ts", import.meta.url),
  // Callers supply the schema, and a regular expression in it could run forever.
  maxMs: 10_000,
  // A recursive schema with alternatives can report an exponential number of errors.
  heapMb: 512,
});

/** Validates a run's answers against its `output_schema`. */
export class OutputValidator {
  readonly #schema: Record<string, unknown>;

  constructor(schema: Record<string, unknown>) {
    this.#schema = schema;
  }

  /** Throws a Failure if the schema is not usable. */
  async checkSchema(signal: AbortSignal): Promise<void> {
    const result = await run({ schema: this.#schema }, signal);
    if (result.type === "validated") return;
    throw new Failure("output_invalid", `The run's output_schema cannot be used: ${result.reason}`);
  }

  /** Returns the problems with an answer, including their paths. The list is empty if the answer is valid. */
  async validate(answer: unknown, signal: AbortSignal): Promise<string[]> {
    const result = await run({ schema: this.#schema, answer: { value: answer } }, signal);
    return result.type === "validated" ? result.problems : [result.reason];
  }
}

async function run(request: ValidationRequest, signal: AbortSignal): Promise<ValidationResult> {
  const outcome = await threads.run(request, { signal });
  switch (outcome.type) {
    case "done":
      return outcome.result;
    case "timed_out":
      return { type: "unusable", reason: `it could not be checked within ${outcome.seconds} seconds` };
    case "failed":
      return { type: "unusable", reason: `it could not be checked: ${outcome.message}`.slice(0, 500) };
  }
}
