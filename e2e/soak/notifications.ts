import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type Db, openDb } from "@outrider/server/store/connection/db";
import type { Acknowledged } from "../chaos/history.ts";
import type { Installation } from "./installation.ts";

const DELIVERY_TIMEOUT_MS = 20_000;
const REPEAT_MS = 500;

/** Finds servers that no longer receive notifications of the database, and therefore stop streaming live updates. */
export async function findServersWithoutNotifications(
  { client, postgres, servers }: Installation,
  acknowledged: Acknowledged,
): Promise<string[]> {
  const created = await client.sendUntilAnswered({
    ...{ name: "probe", method: "POST", path: "/agent/run", idempotencyKey: randomUUID() },
    body: { prompt: "SLEEP: 600000", title: "notification probe" },
  });
  const runId: string = created.body.run_id;
  acknowledged.created.set("notification probe", runId);
  const db = openDb(postgres.connection(), { connections: 1 });
  try {
    const received = await Promise.all(
      client.servers.map((server) => receivesNotifications({ client, db, server, runId })),
    );
    return servers
      .filter((_, index) => !received[index])
      .map(({ name }) => `${name} no longer receives notifications from the database.`);
  } finally {
    const path = `/agent/runs/${runId}/cancel`;
    await client.sendUntilAnswered({ name: "probe", method: "POST", path, idempotencyKey: randomUUID() });
    await db.end({ timeout: 5 });
  }
}

interface NotificationProbe {
  client: Installation["client"];
  db: Db;
  server: string;
  runId: string;
}

async function receivesNotifications({ client, db, server, runId }: NotificationProbe): Promise<boolean> {
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, AbortSignal.timeout(DELIVERY_TIMEOUT_MS)]);
  // A server that does not listen yet misses notifications, so they are repeated.
  const publishing = (async () => {
    for (; !signal.aborted; await pause(REPEAT_MS))
      await db.notify("outrider", `probe deltas\n${JSON.stringify([runId, "probe", null, 1, "text"])}`);
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
    done.abort();
    await publishing;
  }
}
