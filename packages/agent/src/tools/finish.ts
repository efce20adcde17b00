import { OutputValidator } from "./output-validator/output-validator.ts";
import type { Tool } from "./tool.ts";

export const FINISH = "finish";

const description = `Ends your work with the structured answer that the user asked for. The user receives only this answer, so \
call it when everything is done and verified. If the answer does not match the schema, the result says what is wrong.`;

/** The prefix of the result for an invalid answer. The conversation uses it to recognize invalid answers in the log. */
export const INVALID_ANSWER = "The answer does not match the schema: ";

/** The tool with which the agent submits its answer in a run with an `output_schema`. */
export interface StructuredAnswer {
  tool: Tool;
  /** Throws a Failure if the schema is not usable. */
  checkSchema(signal: AbortSignal): Promise<void>;
  /** Extracts the answer from the tool's input. */
  answerOf(input: unknown): unknown;
}

/** Creates the tool for an `output_schema`. */
export function createStructuredAnswer(schema: Record<string, unknown>): StructuredAnswer {
  const validator = new OutputValidator(schema);
  const isWrapped = mustBeWrapped(schema);
  const answerOf = (input: unknown) => (isWrapped ? (input as { answer?: unknown } | null)?.answer : input);
  const tool: Tool = {
    name: FINISH,
    description,
    input: { jsonSchema: isWrapped ? wrap(schema) : schema },
    async run(input, { signal }) {
      const problems = await validator.validate(answerOf(input), signal);
      if (problems.length > 0) return { output: `${INVALID_ANSWER}${problems.join("; ")}`, is_error: true };
      return { output: "The answer matches the schema." };
    },
  };
  return { tool, answerOf, checkSchema: (signal) => validator.checkSchema(signal) };
}

/**
 * Returns whether the schema must be wrapped, because providers accept only a plain object schema as a tool's input.
 */
function mustBeWrapped(schema: Record<string, unknown>): boolean {
  const alternatives = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const"];
  return schema.type !== "object" || alternatives.some((keyword) => Object.hasOwn(schema, keyword));
}

function wrap({ $schema, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return {
    ...($schema === undefined ? {} : { $schema }),
    type: "object",
    properties: { answer: rebaseReferences(schema) },
    required: ["answer"],
    additionalProperties: false,
  };
}

/** Adjusts references to the schema's root, because wrapping moves the root. */
function rebaseReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rebaseReferences);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isLocal = key === "$ref" && typeof inner === "string" && /^#(\/|$)/.test(inner);
      return [key, isLocal ? `#/properties/answer${inner.slice(1)}` : rebaseReferences(inner)];
    }),
  );
}
