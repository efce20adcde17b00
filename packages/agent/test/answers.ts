import { MockLanguageModelV4 } from "ai/test";
import type { CallOptions, Prompt, StreamPart } from "../src/models/provider.ts";
import { newRun, type TestRun } from "./run.ts";

export interface Tokens {
  input?: number;
  cacheRead?: number;
  cacheWrite?: number;
  output?: number;
}

export function words(text: string): StreamPart[] {
  return [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: text },
    { type: "text-end", id: "1" },
  ];
}

export function call(toolName: string, input: unknown): StreamPart {
  return { type: "tool-call", toolCallId: "any", toolName, input: JSON.stringify(input) };
}

export function finish({ input = 10, cacheRead = 0, cacheWrite = 0, output = 5 }: Tokens = {}): StreamPart {
  return {
    type: "finish",
    finishReason: { unified: "stop", raw: "stop" },
    usage: {
      inputTokens: { total: input, noCache: input - cacheRead - cacheWrite, cacheRead, cacheWrite },
      outputTokens: { total: output, text: output, reasoning: 0 },
    },
  };
}

type Reply = StreamPart[] | Error;

/** Creates a run whose model replies with this function, and records its prompts. */
export async function runWithModel(
  reply: (options: CallOptions, number: number) => Reply | Promise<Reply>,
  prompt = "Do something.",
): Promise<TestRun & { prompts: Prompt[] }> {
  const run = Object.assign(await newRun(prompt), { prompts: [] as Prompt[] });
  run.model = new MockLanguageModelV4({
    doStream: async (options) => {
      run.prompts.push(options.prompt);
      const answer = await reply(options, run.prompts.length);
      if (answer instanceof Error) throw answer;
      return { stream: ReadableStream.from([{ type: "stream-start", warnings: [] }, ...answer]) };
    },
  });
  return run;
}
