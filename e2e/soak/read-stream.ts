import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../chaos/random.ts";
import type { Client } from "./client.ts";

const TOTAL_TIMEOUT_MS = 120_000;
const RETRY_DELAY_MS = 100;
/** Readers disconnect at random and reconnect to the other server. */
const MAX_CONNECTION_MS = 2_000;

/** The events of a run that one reader received, over all its connections. */
export interface ObservedStream {
  runId: string;
  seqs: number[];
  connections: number;
  /** Whether the reader reached the end of the run. */
  isComplete: boolean;
}

/** Reads a run's events to the end. Each connection resumes after the last event received. */
export async function readToEnd(client: Client, runId: string, random: Random): Promise<ObservedStream> {
  const stream: ObservedStream = { runId, seqs: [], connections: 0, isComplete: false };
  const deadline = Date.now() + TOTAL_TIMEOUT_MS;
  for (; Date.now() < deadline && !client.isStopped; await pause(RETRY_DELAY_MS)) {
    stream.connections++;
    stream.isComplete = await readConnection(client, stream, random.between(50, MAX_CONNECTION_MS));
    if (stream.isComplete) break;
  }
  return stream;
}

/** Reads one connection. Returns true when the server reports the end of the stream. */
async function readConnection(client: Client, stream: ObservedStream, ms: number): Promise<boolean> {
  const last = stream.seqs.at(-1);
  try {
    const response = await fetch(`${client.nextServer()}/api/v1/agent/runs/${stream.runId}/events`, {
      headers: {
        ...client.headers(),
        accept: "text/event-stream",
        ...(last === undefined ? {} : { "last-event-id": String(last) }),
      },
      signal: AbortSignal.timeout(ms),
    });
    if (response.status === 204) return true;
    if (response.status !== 200 || !response.body) return false;
    let text = "";
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const frames = (text + piece).split("\n\n");
      text = frames.pop() ?? "";
      for (const frame of frames) {
        const id = /^id: (\d+)$/m.exec(frame)?.[1];
        if (id) stream.seqs.push(Number(id));
      }
    }
  } catch {
    // The connection closed, because of the timeout above or an outage.
  }
  return false;
}
