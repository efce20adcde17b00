import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../../failure.ts";
import type { CallOptions, GenerateResult, Prompt, ProviderModel, StreamPart } from "../provider.ts";
import type { ScriptStep } from "./script.ts";
import { type IsCallOf, ScriptProgress } from "./script-progress.ts";

type CallStep = Extract<ScriptStep, { type: "call" }>;

export const SCRIPTED_MODEL_ID = "scripted";

export const NOT_AN_LLM = `The model "${SCRIPTED_MODEL_ID}" is not an LLM: it runs the prompt as a script.`;

const WITHOUT_SCRIPT = `I am the model "${SCRIPTED_MODEL_ID}", which is not an LLM. I only run script lines such as \
"RUN: make test" or "SAY: done", and your message has none. To use a real model, configure a model provider and pass one \
of its models as model_id.`;

const SCRIPT_DONE = "The script is finished.";

/**
 * Creates the default model, which works offline. Its script consists of the user messages, with one step per line.
 * Each response contains the text up to the next tool call; a response without a call ends the turn. `isCallOf` is for
 * agents whose tools have other names than the script's.
 */
export function scriptedModel({ isCallOf }: { isCallOf?: IsCallOf } = {}): ProviderModel {
  return {
    specificationVersion: "v4",
    provider: "outrider",
    modelId: SCRIPTED_MODEL_ID,
    supportedUrls: {},
    async doStream(options) {
      return { stream: ReadableStream.from(streamResponse(options, isCallOf)) };
    },
    async doGenerate(options) {
      return collect(streamResponse(options, isCallOf));
    },
  };
}

/** Yields the response's parts: texts, and at most one call at the end. */
async function* runScript(
  { prompt, abortSignal, tools, toolChoice }: CallOptions,
  isCallOf: IsCallOf | undefined,
): AsyncGenerator<string | CallStep> {
  const { pending, isScript } = new ScriptProgress(prompt, isCallOf);
  if (pending.length === 0) {
    yield isScript ? SCRIPT_DONE : WITHOUT_SCRIPT;
    return;
  }
  if (!tools?.length || toolChoice?.type === "none") {
    yield `I cannot call tools now: ${pending.length} steps of the script are left.`;
    return;
  }
  let hasText = false;
  for (const step of pending) {
    switch (step.type) {
      case "say":
        hasText = true;
        yield step.text;
        break;
      case "sleep":
        await sleep(step.ms, undefined, { signal: abortSignal });
        break;
      case "fail":
        throw new Failure("harness_failed", step.message);
      case "call":
        yield step;
        return;
    }
  }
  if (!hasText) yield SCRIPT_DONE;
}

async function* streamResponse(
  options: CallOptions,
  isCallOf: IsCallOf | undefined,
): AsyncGenerator<StreamPart> {
  yield { type: "stream-start", warnings: [{ type: "other", message: NOT_AN_LLM }] };
  let text = "";
  let call: CallStep | undefined;
  for await (const part of runScript(options, isCallOf)) {
    if (typeof part !== "string") {
      call = part;
      continue;
    }
    if (text === "") yield { type: "text-start", id: "text" };
    const delta = text === "" ? part : `\n${part}`;
    yield { type: "text-delta", id: "text", delta };
    text += delta;
  }
  if (text !== "") yield { type: "text-end", id: "text" };
  const input = JSON.stringify(call?.input ?? "");
  if (call) yield { type: "tool-call", toolCallId: nextCallId(options.prompt), toolName: call.tool, input };
  const unified = call ? "tool-calls" : "stop";
  yield {
    type: "finish",
    finishReason: { unified, raw: unified },
    usage: usageOf({
      input: countWords(JSON.stringify(options.prompt)),
      output: countWords(text) + (call ? countWords(input) : 0),
    }),
  };
}

async function collect(parts: AsyncIterable<StreamPart>): Promise<GenerateResult> {
  const content: GenerateResult["content"] = [];
  const rest: Omit<GenerateResult, "content"> = {
    finishReason: { unified: "other", raw: undefined },
    usage: usageOf({ input: 0, output: 0 }),
    warnings: [],
  };
  let text = "";
  for await (const part of parts) {
    if (part.type === "stream-start") rest.warnings = part.warnings;
    if (part.type === "text-delta") text += part.delta;
    if (part.type === "text-end") content.push({ type: "text", text });
    if (part.type === "tool-call") content.push(part);
    if (part.type === "finish") Object.assign(rest, { finishReason: part.finishReason, usage: part.usage });
  }
  return { content, ...rest };
}

function nextCallId(prompt: Prompt): string {
  const calls = prompt.flatMap(({ role, content }) =>
    role === "assistant" ? content.filter(({ type }) => type === "tool-call") : [],
  );
  return `scripted-${calls.length + 1}`;
}

/** Counts words as tokens, so that usage and limits behave as with a real model. */
function usageOf({ input, output }: { input: number; output: number }): GenerateResult["usage"] {
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}
