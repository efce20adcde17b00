import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type Db, openDb } from "@outrider/server/store/db";
import type { Told } from "../torture/evidence.ts";
import type { World } from "./world.ts";

const HEAR_MS = 20_000;
const AGAIN_MS = 500;

/** Servers that hear nothing of each other any more: a word that is said over the database reaches no reader of theirs. */
export async function deafIn({ client, pair, servers }: World, told: Told): Promise<string[]> {
  const made = await client.insist({
    ...{ name: "probe", method: "POST", path: "/agent/run", idempotencyKey: randomUUID() },
    body: { prompt: "SLEEP: 600000", title: "a run to read of" },
  });
  const runId: string = made.body.run_id;
  told.created.set("a run to read of", runId);
  const db = openDb(pair.connection(), { connections: 1 });
  try {
    const hears = await Promise.all(client.servers.map((server) => hearsOf({ client, db, server, runId })));
    return servers
      .filter((_, index) => !hears[index])
      .map(({ name }) => `${name} hears no word over the database any more.`);
  } finally {
    const path = `/agent/runs/${runId}/cancel`;
    await client.insist({ name: "probe", method: "POST", path, idempotencyKey: randomUUID() });
    await db.end({ timeout: 5 });
  }
}

interface Hearing {
  client: World["client"];
  db: Db;
  server: string;
  runId: string;
}

async function hearsOf({ client, db, server, runId }: Hearing): Promise<boolean> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(HEAR_MS)]);
  // A word is lost on whoever does not listen yet, so it is said again and again.
  const saying = (async () => {
    for (; !signal.aborted; await pause(AGAIN_MS)) await db.notify("outrider_deltas", `${runId}a word`);
  })();
  try {
    const headers = { ...client.headers(), accept: "text/event-stream" };
    const response = await fetch(`${server}/api/v1/agent/runs/${runId}/events`, { headers, signal });
    for await (const piece of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
      if (piece.includes("message.agent.delta")) return true;
    }
    return false;
  } catch {
    return false;
  } finally {
    over.abort();
    await saying;
  }
}
