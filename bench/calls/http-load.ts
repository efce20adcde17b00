import { randomUUID } from "node:crypto";
import autocannon, { type Client } from "autocannon";
import { answerParent } from "../support/child-process.ts";

export interface Requests {
  origin: string;
  method: "GET" | "POST";
  /** Requested in turn. */
  paths: string[];
  headers: Record<string, string>;
  body?: string;
  /** Whether each request has its own Idempotency-Key, as from clients that retry. */
  freshKeys: boolean;
  /** The number of runs that each response must contain. */
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
  /** All responses, including those outside the measured time. */
  acknowledged: number;
}

/** The time to open all connections, which is not measured. */
const RAMP_MS = 300;

answerParent<Load>(async ({ requests, connections, seconds }) => {
  const { origin, method, paths, headers, body, freshKeys, runs } = requests;
  const clients: Client[] = [];
  const durations: number[] = [];
  let acknowledged = 0;
  let measuring = false;
  const ended = Promise.withResolvers<autocannon.Result>();
  const options: autocannon.Options = {
    url: origin,
    connections,
    // The load ends when the last client has finished; see drain.
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
    if (measuring) durations.push(responseTime);
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
    throw new Error(
      `Unexpected responses: statuses ${statuses}, ${mismatches} without the expected runs, ${errors} errors.`,
    );
  }
  durations.sort((a, b) => a - b);
  const result: LoadResult = {
    perSecond: durations.length / elapsed,
    latency: { p50: quantile(durations, 0.5), p99: quantile(durations, 0.99) },
    acknowledged,
  };
  return result;
});

function withFreshKey(request: autocannon.Request): autocannon.Request {
  return { ...request, headers: { ...request.headers, "idempotency-key": randomUUID() } };
}

/**
 * Lets each connection finish its current request. autocannon itself would close the connections, and then more runs
 * could be stored than were acknowledged. There is no option for this; a client checks these two fields.
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
