import { answerCheck } from "../answer-check.ts";
import type { Tool } from "./tool.ts";

export const FINISH = "finish";

const description = `Ends your work with the answer that the user asked for. The user gets this and nothing else, so call it when
everything is done and checked. An answer that does not fit the schema comes back with what is wrong about it.`;

/** How the refusal of an answer begins; the log is searched for it. */
export const UNFIT = "The answer does not fit: ";

/** The form that a run's answer must have, and the tool by which the agent gives it. */
export interface AnswerForm {
  tool: Tool;
  /** The answer itself, as the tool was given it. */
  answerOf(input: unknown): unknown;
}

/** Fails where the schema cannot be used. */
export function answerForm(schema: Record<string, unknown>): AnswerForm {
  const check = answerCheck(schema);
  const isWrapped = mustBeWrapped(schema);
  const answerOf = (input: unknown) => (isWrapped ? (input as { answer?: unknown } | null)?.answer : input);
  const tool: Tool = {
    name: FINISH,
    description,
    input: { jsonSchema: isWrapped ? wrapped(schema) : schema },
    async run(input) {
      const wrong = check(answerOf(input));
      if (wrong.length > 0) return { output: `${UNFIT}${wrong.join("; ")}`, is_error: true };
      return { output: "The answer fits." };
    },
  };
  return { tool, answerOf };
}

/** Providers take a tool's input only as a plain object. */
function mustBeWrapped(schema: Record<string, unknown>): boolean {
  const alternatives = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const"];
  return schema.type !== "object" || alternatives.some((keyword) => Object.hasOwn(schema, keyword));
}

function wrapped({ $schema, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return {
    ...($schema === undefined ? {} : { $schema }),
    type: "object",
    properties: { answer: moved(schema) },
    required: ["answer"],
    additionalProperties: false,
  };
}

/** References to the schema's own root have to follow it to its new place. */
function moved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moved);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isOwn = key === "$ref" && typeof inner === "string" && /^#(\/|$)/.test(inner);
      return [key, isOwn ? `#/properties/answer${inner.slice(1)}` : moved(inner)];
    }),
  );
}
