import { findExcess } from "@outrider/agent/json-meter";
import { OutputValidator } from "@outrider/agent/tools/output-validator/output-validator";

const MAX_BYTES = 1024 * 1024;
const jsonLimits = { depth: 100, values: 100_000 };

export type ReadAnswer = { type: "valid"; output: unknown } | { type: "invalid"; problem: string };

/** Reads the structured answer of an agent that cannot be given the tool `finish`: its last message is the answer. */
export class StructuredOutput {
  readonly schema: Record<string, unknown>;
  readonly #validator: OutputValidator;

  constructor(schema: Record<string, unknown>) {
    this.schema = schema;
    this.#validator = new OutputValidator(schema);
  }

  /** Throws a Failure if the schema is not usable. */
  checkSchema(signal: AbortSignal): Promise<void> {
    return this.#validator.checkSchema(signal);
  }

  async read(text: string, signal: AbortSignal): Promise<ReadAnswer> {
    if (text.trim() === "") return { type: "invalid", problem: "it is empty." };
    const parsed = candidates(text).map(parse);
    const json = parsed.find((result) => result.type === "json");
    if (!json) {
      const problem = parsed.find((result) => result.type === "invalid")?.problem ?? "";
      return { type: "invalid", problem: `it is not usable JSON: ${problem}.` };
    }
    const problems = await this.#validator.validate(json.value, signal);
    return problems.length === 0
      ? { type: "valid", output: json.value }
      : { type: "invalid", problem: `it does not match the schema: ${problems.join("; ")}.` };
  }
}

/** Models often wrap JSON in a code block, or write a sentence before it. */
function candidates(text: string): string[] {
  const trimmed = text.trim();
  const blocks = trimmed.split("```");
  // The last complete code block is between the last two fences.
  const block = blocks.length >= 3 ? blocks.at(blocks.length % 2 === 1 ? -2 : -3) : undefined;
  return [trimmed, ...(block === undefined ? [] : [block.replace(/^\w*\n/, "").trim()])];
}

function parse(text: string): { type: "json"; value: unknown } | { type: "invalid"; problem: string } {
  if (Buffer.byteLength(text) > MAX_BYTES) return { type: "invalid", problem: "it has more than 1 MiB" };
  const excess = findExcess(text, jsonLimits);
  if (excess) return { type: "invalid", problem: `it ${excess}` };
  try {
    return { type: "json", value: JSON.parse(text) };
  } catch (error) {
    return { type: "invalid", problem: (error as Error).message };
  }
}
