import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { answerParent } from "../support/child-process.ts";
import type { Times } from "./baseline-queue.ts";

/** Creates runs with several concurrent callers. */
export interface CreateRuns {
  origin: string;
  key: string;
  prompt: string;
  count: number;
  callers: number;
}

const agent = new Agent({ keepAlive: true });

/** Uses a minimal HTTP client, because its cost reduces what is left for the service. */
async function create({ origin, key }: CreateRuns, body: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}/api/v1/agent/run`, { method: "POST", agent, headers }, async (reply) => {
      const answer = await text(reply);
      if (reply.statusCode === 200) resolve(JSON.parse(answer).run_id);
      else reject(new Error(`POST /agent/run returned ${reply.statusCode}: ${answer}`));
    });
    sent.on("error", reject).end(body);
  });
}

answerParent<CreateRuns>(async (options) => {
  const { prompt, count, callers } = options;
  const body = JSON.stringify({ prompt });
  const times: Times = new Map();
  let started = 0;
  const caller = async () => {
    while (started++ < count) {
      times.set(await create(options, body), process.hrtime.bigint());
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return times;
});
