import { randomUUID } from "node:crypto";
import autocannon, { type Client } from "autocannon";
import { answerParent } from "./child.ts";

export interface Requests {
  origin: string;
  method: "GET" | "POST";
  /** Asked for in turn. */
  paths: string[];
  headers: Record<string, string>;
  body?: string;
  /** Send each request with an Idempotency-Key of its own, as clients do that try again. */
  freshKeys: boolean;
  /** How many runs each answer must name. */
  runs: number;
}

export interface Load {
  requests: Requests;
  connections: number;
  seconds: number;
}

export interface LoadResult {
  perSecond: number;
  latency: { p50: number; p99: number };
  /** All answers, also those outside the measured time. */
  acknowledged: number;
}

/** Time for all connections to be opened and at work, which is not measured. */
const RAMP_MS = 300;

answerParent<Load>(async ({ requests, connections, seconds }) => {
  const { origin, method, paths, headers, body, freshKeys, runs } = requests;
  const clients: Client[] = [];
  const took: number[] = [];
  let acknowledged = 0;
  let measuring = false;
  const ended = Promise.withResolvers<autocannon.Result>();
  const options: autocannon.Options = {
    url: origin,
    connections,
    // It ends when the last client has; see drain.
    duration: 3_600,
    sampleInt: 50,
    setupClient: (client) => clients.push(client),
    verifyBody: (text: unknown) => countRuns(String(text)) === runs,
    requests: paths.map((path) => ({
      method,
      path,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(freshKeys ? { setupRequest: withFreshKey } : {}),
    })),
  };
  const cannon = autocannon(options, (error, result) =>
    error ? ended.reject(error) : ended.resolve(result),
  );
  cannon.on("response", (_client, _status, _bytes, responseTime) => {
    acknowledged++;
    if (measuring) took.push(responseTime);
  });
  await sleep(RAMP_MS);
  measuring = true;
  const start = performance.now();
  await sleep(seconds * 1_000);
  measuring = false;
  const elapsed = (performance.now() - start) / 1_000;
  drain(clients);
  const { errors, timeouts, mismatches, non2xx, statusCodeStats } = await ended.promise;
  if (errors + timeouts + mismatches + non2xx > 0) {
    const statuses = JSON.stringify(statusCodeStats);
    throw new Error(`Wrong answers: statuses ${statuses}, ${mismatches} without the runs, ${errors} errors.`);
  }
  took.sort((a, b) => a - b);
  const result: LoadResult = {
    perSecond: took.length / elapsed,
    latency: { p50: quantile(took, 0.5), p99: quantile(took, 0.99) },
    acknowledged,
  };
  return result;
});

function withFreshKey(request: autocannon.Request): autocannon.Request {
  return { ...request, headers: { ...request.headers, "idempotency-key": randomUUID() } };
}

/**
 * Lets each connection end with the answer that it waits for. autocannon itself would cut them, and then more
 * could be stored than was acknowledged. (No option does it; a client looks at these two before it goes on.)
 */
function drain(clients: Client[]) {
  for (const client of clients as unknown as { reqsMade: number; responseMax: number }[])
    client.responseMax = client.reqsMade;
}

function countRuns(body: string): number {
  let count = 0;
  for (let at = body.indexOf('"run_id":"'); at >= 0; at = body.indexOf('"run_id":"', at + 1)) count++;
  return count;
}

function quantile(sorted: number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
