import type { RunEvent } from "@outrider/contract/event";
import { isFinal } from "@outrider/contract/run";
import type { FastifyReply, FastifyRequest } from "fastify";
import { listEvents } from "../store/events.ts";
import { findHead } from "../store/heads.ts";
import type { Services } from "./call.ts";

const HEARTBEAT_MS = 15_000;
const BATCH = 500;

export function asksForStream(request: FastifyRequest): boolean {
  return /text\/event-stream/i.test(request.headers.accept ?? "");
}

interface Stream {
  services: Services;
  reply: FastifyReply;
  runId: string;
  keyId: string;
  after: number;
}

/** Rows behind `after`, then a wait, then rows again, until the run is final and everything was sent. */
export async function streamEvents({ services, reply, runId, keyId, after }: Stream): Promise<void> {
  const { db, watch, stopping } = services;
  reply.hijack();
  const { raw } = reply;
  const closed = new AbortController();
  raw.on("close", () => closed.abort());
  const signal = AbortSignal.any([closed.signal, stopping]);
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  raw.flushHeaders();
  const heartbeat = setInterval(() => raw.write(": still here\n\n"), HEARTBEAT_MS);
  try {
    for (let seq = after; !signal.aborted; ) {
      // The state is read before the events: if it is final, nothing comes behind what is read next.
      const head = await findHead(db, runId);
      const events = await listEvents(db, { runId, after: seq, limit: BATCH });
      for (const event of events) await send(raw, event, signal);
      seq = events.at(-1)?.seq ?? seq;
      if (events.length === BATCH) continue;
      if (!head || (isFinal(head.state) && seq >= head.last_seq)) break;
      if ((await watch.next({ runId, keyId, after: seq, signal })) === "over") break;
    }
  } finally {
    clearInterval(heartbeat);
    raw.end();
  }
}

/** A slow reader makes us wait instead of filling memory. */
async function send(raw: FastifyReply["raw"], event: RunEvent, signal: AbortSignal): Promise<void> {
  const { seq, type } = event;
  if (raw.write(`id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify(event)}\n\n`) || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const go = () => {
      raw.off("drain", go);
      signal.removeEventListener("abort", go);
      resolve();
    };
    raw.on("drain", go);
    signal.addEventListener("abort", go);
  });
}
