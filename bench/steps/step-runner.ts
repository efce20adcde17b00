import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { RunFiles } from "@outrider/agent/files";
import type { Workspace } from "@outrider/agent/workspace";
import { zeroUsage } from "@outrider/contract/run";
import type { AgentEvent, LogEvent } from "../../packages/agent/src/event.ts";
import { openModel } from "../../packages/agent/src/models/open-model.ts";
import type { Tool } from "../../packages/agent/src/tools/tool.ts";
import { runTurn } from "../../packages/agent/src/turn/run-turn.ts";
import { answerParent } from "../support/child-process.ts";

/** One side of the steps benchmark: the agent loop, or only the requests that it made. */
export interface StepRequest {
  baseUrl: string;
  steps: number;
  /** The recorded requests of the loop, for the side that repeats them. */
  bodies?: string[];
  /** Whether to return the request bodies. */
  record?: true;
}

export interface StepResult {
  /** The duration of each step in milliseconds. */
  times: number[];
  /** The heap in use, in MiB, after a tenth of the steps and at the end. */
  memory: [number, number];
  bodies: string[];
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

answerParent<StepRequest>(async (question) => {
  const stopwatch = new Stopwatch(question.steps);
  const bodies = question.bodies
    ? await repeatRequests(question, question.bodies, stopwatch)
    : await runLoop(question, stopwatch);
  return { times: stopwatch.times, memory: stopwatch.memory, bodies } satisfies StepResult;
});

/** Records the time of each call of the tool, which is the same on both sides. */
class Stopwatch {
  readonly times: number[] = [];
  readonly memory: [number, number] = [0, 0];
  readonly #steps: number;
  #last = performance.now();

  constructor(steps: number) {
    this.#steps = steps;
  }

  tick() {
    this.times.push(performance.now() - this.#last);
    const { length } = this.times;
    if (length === this.#steps / 10) this.memory[0] = heapInUse();
    if (length === this.#steps) this.memory[1] = heapInUse();
    this.#last = performance.now();
  }
}

function heapInUse(): number {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** Runs a turn in which every step calls a tool that does nothing. */
async function runLoop({ baseUrl, steps, record }: StepRequest, stopwatch: Stopwatch): Promise<string[]> {
  const bodies: string[] = [];
  const send = globalThis.fetch;
  if (record) {
    globalThis.fetch = (input, init) => {
      bodies.push(String(init?.body));
      return send(input, init);
    };
  }
  const tool: Tool = {
    name: "tick",
    description: "Does nothing, and says how it went.",
    input: { jsonSchema: { type: "object", properties: { step: { type: "integer" } } } },
    async run(input) {
      stopwatch.tick();
      return { output: `Step ${JSON.stringify(input)} went well: ${"all is as it should be. ".repeat(8)}` };
    },
  };
  const prompt = Array.from({ length: steps }, (_, index) => `CALL: tick {"step": ${index}}`).join("\n");
  const never = new AbortController().signal;
  const model = {
    model_id: "stub",
    provider: "openai-compatible",
    name: "stub",
    base_url: baseUrl,
    context_tokens: 10_000_000,
    supports_images: false,
  } as const;
  const history = [{ type: "run.created", data: { title: "", prompt, source: "API" } }];
  const log: AgentEvent[] = [];
  const end = await runTurn({
    model: await openModel(model),
    model_id: "stub",
    model_facts: model,
    tools: [tool],
    instructions: "Go on until all is done.",
    history: history as unknown as LogEvent[],
    workspace: {} as Workspace,
    files: {} as RunFiles,
    emit: async (event) => {
      log.push(event);
      if (log.length > 100) log.length = 0;
      return event;
    },
    delta: () => {},
    takeMessages: async () => [],
    interrupt: () => never,
    timeIsUp: never,
    limits: { max_steps: steps + 10 },
    usage: zeroUsage,
    signal: never,
  });
  globalThis.fetch = send;
  if (end.type !== "succeeded") throw new Error(`Unexpected end of the turn: ${JSON.stringify(end)}`);
  return bodies;
}

/** Repeats the requests without the loop: sends each, parses the whole stream, and calls the tool. */
async function repeatRequests(
  { baseUrl }: StepRequest,
  bodies: string[],
  stopwatch: Stopwatch,
): Promise<string[]> {
  const headers = { "content-type": "application/json", authorization: "Bearer none" };
  // Serializing each request is part of the work without the loop, too.
  for (const parsed of bodies.map((body) => JSON.parse(body))) {
    const body = JSON.stringify(parsed);
    const reply = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body });
    const decoder = new TextDecoder();
    let rest = "";
    let called = "";
    for await (const bytes of reply.body as ReadableStream<Uint8Array>) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (!line.startsWith("data: {")) continue;
        const [choice] = JSON.parse(line.slice(6)).choices ?? [];
        called += choice?.delta?.tool_calls?.[0]?.function?.arguments ?? "";
      }
    }
    if (called === "") continue;
    JSON.parse(called);
    stopwatch.tick();
  }
  return [];
}
