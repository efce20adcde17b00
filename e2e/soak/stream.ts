import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../torture/random.ts";
import type { Client } from "./client.ts";

const PATIENCE_MS = 120_000;
const BETWEEN_MS = 100;
/** Somebody who reads long hangs up by himself now and then, and comes back at the other server. */
const LONGEST_READ_MS = 2_000;

/** What one reader was shown of a run, over as many connections as it took. */
export interface Seen {
  runId: string;
  seqs: number[];
  connections: number;
  /** False where the run did not end while somebody read. */
  isWhole: boolean;
}

/** Reads a run's events to their end, behind the last one seen after each break. */
export async function readToTheEnd(client: Client, runId: string, random: Random): Promise<Seen> {
  const seen: Seen = { runId, seqs: [], connections: 0, isWhole: false };
  const deadline = Date.now() + PATIENCE_MS;
  for (; Date.now() < deadline && !client.isDone; await pause(BETWEEN_MS)) {
    seen.connections++;
    seen.isWhole = await readOn(client, seen, random.between(50, LONGEST_READ_MS));
    if (seen.isWhole) break;
  }
  return seen;
}

/** One connection; true when the server says that there is nothing more. */
async function readOn(client: Client, seen: Seen, ms: number): Promise<boolean> {
  const last = seen.seqs.at(-1);
  try {
    const response = await fetch(`${client.nextServer()}/api/v1/agent/runs/${seen.runId}/events`, {
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
        if (id) seen.seqs.push(Number(id));
      }
    }
  } catch {
    // Cut off, by us or by what happens to the service.
  }
  return false;
}
