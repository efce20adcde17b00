import { type ClientRequest, get } from "node:http";
import { answerParent } from "./child.ts";

/** Clients that watch a run, each over a connection of its own. */
export interface Streams {
  origin: string;
  key: string;
  runId: string;
  /** How many there are to be. */
  open: number;
}

/** By the number of an event, when each watcher had it. */
export type Seen = Map<number, bigint[]>;

const watching: ClientRequest[] = [];
const seen: Seen = new Map();

answerParent<Streams | "seen">(async (question) => {
  if (question === "seen") return seen;
  while (watching.length < question.open) {
    const room = Math.min(50, question.open - watching.length);
    watching.push(...(await Promise.all(Array.from({ length: room }, () => watch(question)))));
  }
  return watching.length;
});

/** Resolves with the first event: from then on it waits for the next. */
function watch({ origin, key, runId }: Streams): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
    const request = get(`${origin}/api/v1/agent/runs/${runId}/events`, { headers, agent: false }, (reply) => {
      if (reply.statusCode !== 200) return reject(new Error(`A stream answered ${reply.statusCode}.`));
      let rest = "";
      reply.setEncoding("utf8").on("data", (chunk: string) => {
        const at = process.hrtime.bigint();
        rest += chunk;
        for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
          const id = /^id: (\d+)$/m.exec(rest.slice(0, end))?.[1];
          rest = rest.slice(end + 2);
          if (id) seen.set(Number(id), [...(seen.get(Number(id)) ?? []), at]);
        }
        resolve(request);
      });
    });
    request.on("error", reject);
  });
}
