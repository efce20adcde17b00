/**
 * Makes one short call to a model and reports what came back. It uses the same clients as runs, so a test that succeeds
 * means that runs can call the model. It makes no second attempt, because the caller wants to see the first error.
 */
import type { AssignedModel } from "@outrider/contract/worker";
import { messageOf } from "../failure.ts";
import { openModel } from "./open-model.ts";
import { describeCallError } from "./provider-errors.ts";
import type { Send } from "./providers/provider-settings.ts";

const PROMPT = "This is a connection test. Reply with the word OK and nothing else.";
/** Models that reason need room for it before they answer. */
const MAX_OUTPUT_TOKENS = 1_024;
const MAX_TEXT_CHARACTERS = 2_000;

export type TestCallResult =
  | { type: "response"; text: string; inputTokens: number | undefined; outputTokens: number | undefined }
  | { type: "error"; status: number | undefined; kind: string; message: string; cause: unknown };

export async function makeTestCall(
  work: AssignedModel,
  { send, signal }: { send: Send; signal: AbortSignal },
): Promise<TestCallResult> {
  try {
    const max_output_tokens = Math.min(work.max_output_tokens ?? MAX_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS);
    const model = await openModel({ ...work, max_output_tokens }, { send });
    const { stream } = await model.doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: PROMPT }] }],
      abortSignal: signal,
    });
    let text = "";
    for await (const part of stream) {
      if (part.type === "error") throw part.error;
      if (part.type === "text-delta" && text.length < MAX_TEXT_CHARACTERS) text += part.delta;
      if (part.type === "finish") {
        const { inputTokens, outputTokens } = part.usage;
        return { type: "response", text, inputTokens: inputTokens.total, outputTokens: outputTokens.total };
      }
    }
    return {
      type: "error",
      status: undefined,
      kind: "",
      message: "the response is incomplete",
      cause: undefined,
    };
  } catch (error) {
    const { status, kind, message } = describeCallError(error) ?? {
      status: undefined,
      kind: "",
      message: messageOf(error),
    };
    return { type: "error", status, kind, message, cause: error };
  }
}
