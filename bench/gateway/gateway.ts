import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { startChild } from "../support/child-process.ts";
import { type BenchResult, compare, interleave } from "../support/compare.ts";

const TURNS = 20;
const CALLS = 5;
/** At most twice the time, which is half the rate. */
const LIMIT = 0.5;
/** About what an agent sends in the middle of a turn: its instructions, its tools and the conversation so far. */
const body = JSON.stringify({
  model: "stub",
  stream: true,
  stream_options: { include_usage: true },
  tools: Array.from({ length: 20 }, (_, index) => ({
    type: "function",
    function: {
      name: `tool_${index}`,
      description: "Does what its name says, and returns what happened. ".repeat(20),
      parameters: { type: "object", properties: { path: { type: "string" }, text: { type: "string" } } },
    },
  })),
  messages: [
    { role: "system", content: "Work on the task until it is done. ".repeat(500) },
    ...Array.from({ length: 40 }, () => ({ role: "user", content: "A line of text. ".repeat(40) })),
    { role: "user", content: "SAY: hello" },
  ],
});

/** Compares the time to the first streamed byte through the gateway to that through a proxy that does nothing else. */
export async function benchGateway(): Promise<BenchResult[]> {
  await using stack = new AsyncDisposableStack();
  const start = (file: string) => stack.use(startChild(new URL(file, import.meta.url)));
  const provider = await start("../steps/model-server.ts").ask<string>({});
  const gateway = await start("./gateway-server.ts").ask<number>(provider);
  const proxy = await start("./bare-proxy.ts").ask<number>(provider);
  const agent = new Agent({ keepAlive: true });
  stack.defer(() => agent.destroy());
  const measure = (port: number) => async () => {
    const times: number[] = [];
    for (let call = 0; call < CALLS; call += 1) times.push(await timeToFirstByte(port, agent));
    return times;
  };
  const sides = { subject: measure(gateway), baseline: measure(proxy) };
  // Warms up the JIT compiler and the connections.
  for (let turn = 0; turn < TURNS; turn += 1) await Promise.all([sides.subject(), sides.baseline()]);
  const name = "gateway: first byte";
  return [await compare({ name, limit: LIMIT, ...interleave({ turns: TURNS, quantile: 0.5, ...sides }) })];
}

async function timeToFirstByte(port: number, agent: Agent): Promise<number> {
  const startedAt = performance.now();
  const sent = request({
    ...{ host: "127.0.0.1", port, agent, method: "POST", path: "/v1/chat/completions" },
    headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const ended = once(response, "end");
  await once(response, "data");
  const time = performance.now() - startedAt;
  await ended;
  if (response.statusCode !== 200) throw new Error(`The call failed with status ${response.statusCode}.`);
  return time;
}
