/**
 * Records a model's response in the log and decides whether it can be used.
 *
 * An empty response, a text that was cut off at the output limit, and a tool call that could not be read are not the end
 * of the turn. A notice records the problem, the conversation adds a note about it for the model, and the turn makes
 * another call. The notices are in the log, so an attempt that is resumed continues to count them. If the model does not
 * recover, the turn fails with `model_error`, or ends with the text that there is.
 */
import type { PrivateData } from "@outrider/contract/private-data";
import { ANSWER_CUT, type Conversation, type ResponseProblem } from "../conversation/conversation.ts";
import type { AgentEvent } from "../event.ts";
import { Failure } from "../failure.ts";
import type { ModelResponse } from "../models/model-call.ts";
import { matchStoredReasoning } from "../models/replay.ts";
import { type CallTokens, callTokens } from "./usage.ts";

/** How often in a row a model may have each problem before the turn stops asking. */
const maxProblems: Record<ResponseProblem, number> = {
  answer_empty: 1,
  answer_continued: 4,
  call_cut: 3,
  call_malformed: 3,
};

const problemMessages: Record<ResponseProblem, string> = {
  answer_empty: "The model returned an empty response and was asked for an answer.",
  answer_continued: "The model reached its output limit and was asked to continue its answer.",
  call_cut: "The model reached its output limit within a tool call. The call was not run.",
  call_malformed: "The model's provider could not parse a tool call. The model was asked to repeat it.",
};

const answerCutMessage = "The model reached its output limit; the answer may be truncated.";

const failureMessages: Record<Exclude<ResponseProblem, "answer_continued">, string> = {
  answer_empty: "The model returned two empty responses in a row. Retry the run, or choose another model.",
  call_cut: `The model's tool calls were cut off at its output limit ${maxProblems.call_cut + 1} times in a row. \
Increase max_output_tokens in the model configuration, or choose another model.`,
  call_malformed: `The model's provider could not parse ${maxProblems.call_malformed + 1} tool calls in a row. Choose \
another model.`,
};

export interface ResponseLog {
  conversation: Conversation;
  /** Stores an event and returns it as stored. */
  emit<E extends AgentEvent>(event: E): Promise<E>;
  recordUsage(tokens: CallTokens, privateData?: PrivateData): Promise<void>;
}

/**
 * Emits a response's events. Their order is significant: see conversation.ts. Returns "again" if the model must be
 * called again. `isLast` is set if no further call may be made.
 */
export async function recordResponse(
  response: ModelResponse,
  { conversation, emit, recordUsage }: ResponseLog,
  { isLast }: { isLast: boolean },
): Promise<ModelResponse | Failure | "again"> {
  const { text, reasoning, calls, warnings, isTruncated, usage } = response;
  const found = isLast ? undefined : problemOf(response);
  const isRepeated = found !== undefined && conversation.problemCount(found) >= maxProblems[found];
  const problem = isRepeated ? undefined : found;
  const failure =
    isRepeated && found !== "answer_continued"
      ? new Failure("model_error", failureMessages[found])
      : undefined;
  const isFinal = calls.length === 0 && !problem && !failure;
  for (const message of warnings) {
    if (conversation.hasNotice(message)) continue;
    await emit({ type: "notice", data: { code: "model_warning", message } });
  }
  const stored = reasoning ? (await emit({ type: "reasoning", data: { text: reasoning } })).data.text : "";
  if (text.trim() !== "" && !isFinal) await emit({ type: "message.agent", data: { text } });
  const replay = matchStoredReasoning(response.replay, { original: reasoning, stored });
  await recordUsage(callTokens(usage), replay && { replay });
  if (failure) return failure;
  if (problem) await emit({ type: "notice", data: { code: problem, message: problemMessages[problem] } });
  else if (isTruncated) await emit({ type: "notice", data: { code: ANSWER_CUT, message: answerCutMessage } });
  if (isFinal) await emit({ type: "message.agent", data: { text } });
  return problem && calls.length === 0 ? "again" : response;
}

function problemOf({ text, calls, isTruncated, unreadableCall }: ModelResponse): ResponseProblem | undefined {
  if (unreadableCall) return unreadableCall === "cut" ? "call_cut" : "call_malformed";
  if (calls.length > 0) return undefined;
  if (text.trim() === "") return "answer_empty";
  return isTruncated ? "answer_continued" : undefined;
}
