import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { noUsage } from "@outrider/contract/run";
import type { AgentEvent, LogEvent } from "../packages/agent/src/event.ts";
import { runTurn } from "../packages/agent/src/loop.ts";
import { openModel } from "../packages/agent/src/models/open.ts";
import type { Tool } from "../packages/agent/src/tools/tool.ts";
import { answerParent } from "./child.ts";

/** One side of the bench of steps: the loop, or the bare requests that it made. */
export interface Stepper {
  baseUrl: string;
  steps: number;
  /** What the loop sent, for the side that only repeats it. */
  bodies?: string[];
  /** Whether to answer with what was sent. */
  record?: true;
}

export interface Stepped {
  /** Milliseconds, of each step. */
  times: number[];
  /** MiB of objects in use after a tenth of the steps, and at their end. */
  memory: [number, number];
  bodies: string[];
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

answerParent<Stepper>(async (question) => {
  const watch = new Watch(question.steps);
  const bodies = question.bodies
    ? await repeat(question, question.bodies, watch)
    : await loop(question, watch);
  return { times: watch.times, memory: watch.memory, bodies } satisfies Stepped;
});

/** Called by the tool, which is the same on both sides. */
class Watch {
  readonly times: number[] = [];
  readonly memory: [number, number] = [0, 0];
  private readonly steps: number;
  private last = performance.now();

  constructor(steps: number) {
    this.steps = steps;
  }

  tick() {
    this.times.push(performance.now() - this.last);
    const { length } = this.times;
    if (length === this.steps / 10) this.memory[0] = inUse();
    if (length === this.steps) this.memory[1] = inUse();
    this.last = performance.now();
  }
}

function inUse(): number {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** A turn of the agent whose every step calls a tool that does nothing. */
async function loop({ baseUrl, steps, record }: Stepper, watch: Watch): Promise<string[]> {
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
      watch.tick();
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
    sees_images: false,
  } as const;
  const history = [{ type: "run.created", data: { title: "", prompt, source: "API" } }];
  const log: AgentEvent[] = [];
  const end = await runTurn({
    model: openModel(model),
    model_id: "stub",
    model_facts: model,
    tools: [tool],
    instructions: "Go on until all is done.",
    history: history as unknown as LogEvent[],
    workspace: {} as never,
    files: {} as never,
    emit: async (event) => {
      log.push(event);
      if (log.length > 100) log.length = 0;
    },
    delta: () => {},
    takeMessages: async () => [],
    interrupt: () => never,
    timeIsUp: never,
    limits: { max_steps: steps + 10 },
    usage: noUsage,
    signal: never,
  });
  globalThis.fetch = send;
  if (end.type !== "succeeded") throw new Error(`The turn ended so: ${JSON.stringify(end)}`);
  return bodies;
}

/** The same requests by hand: sends each, reads the stream to its end, parses every piece, and calls the tool. */
async function repeat({ baseUrl }: Stepper, bodies: string[], watch: Watch): Promise<string[]> {
  const headers = { "content-type": "application/json", authorization: "Bearer none" };
  // By hand it would be a list that grows, and is written as JSON for each request.
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
    watch.tick();
  }
  return [];
}
