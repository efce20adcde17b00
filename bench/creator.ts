import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { answerParent } from "./child.ts";
import type { Times } from "./jobs.ts";

/** A client that creates runs, some at once. */
export interface Creator {
  origin: string;
  key: string;
  prompt: string;
  count: number;
  callers: number;
}

const agent = new Agent({ keepAlive: true });

/** By the plainest client there is: what it costs is taken from the machine that is measured. */
async function create({ origin, key }: Creator, body: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const asked = request(`${origin}/api/v1/agent/run`, { method: "POST", agent, headers }, async (reply) => {
      const answer = await text(reply);
      if (reply.statusCode === 200) resolve(JSON.parse(answer).run_id);
      else reject(new Error(`POST /agent/run answered ${reply.statusCode}: ${answer}`));
    });
    asked.on("error", reject).end(body);
  });
}

answerParent<Creator>(async (asked) => {
  const { prompt, count, callers } = asked;
  const body = JSON.stringify({ prompt });
  const times: Times = new Map();
  let begun = 0;
  const caller = async () => {
    while (begun++ < count) {
      times.set(await create(asked, body), process.hrtime.bigint());
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return times;
});
