import { type ClientRequest, get } from "node:http";
import { answerParent } from "../support/child-process.ts";

/** Opens stream clients of a run, each on its own connection. */
export interface OpenStreams {
  origin: string;
  key: string;
  runId: string;
  /** The total number of clients. */
  open: number;
}

/** When each client received an event, by sequence number. */
export type Arrivals = Map<number, bigint[]>;

const clients: ClientRequest[] = [];
const arrivals: Arrivals = new Map();

answerParent<OpenStreams | "arrivals">(async (question) => {
  if (question === "arrivals") return arrivals;
  while (clients.length < question.open) {
    const batch = Math.min(50, question.open - clients.length);
    clients.push(...(await Promise.all(Array.from({ length: batch }, () => openStream(question)))));
  }
  return clients.length;
});

/** Resolves with the first event; from then on the client waits for the next one. */
function openStream({ origin, key, runId }: OpenStreams): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
    const request = get(`${origin}/api/v1/agent/runs/${runId}/events`, { headers, agent: false }, (reply) => {
      if (reply.statusCode !== 200) return reject(new Error(`A stream returned ${reply.statusCode}.`));
      let rest = "";
      reply.setEncoding("utf8").on("data", (chunk: string) => {
        const at = process.hrtime.bigint();
        rest += chunk;
        for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
          const id = /^id: (\d+)$/m.exec(rest.slice(0, end))?.[1];
          rest = rest.slice(end + 2);
          if (id) arrivals.set(Number(id), [...(arrivals.get(Number(id)) ?? []), at]);
        }
        resolve(request);
      });
    });
    request.on("error", reject);
  });
}
