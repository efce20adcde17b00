import type { Logger } from "pino";
import type { Db } from "../../store/connection/db.ts";
import {
  changePublication,
  findPublication,
  isLeaseExpired,
  listOverduePublications,
} from "../../store/publications.ts";
import { lockRunState } from "../../store/runs/run-state.ts";
import { startTicker, type Ticker } from "../../ticker.ts";
import { type PubSub, topics } from "../live/pubsub.ts";
import type { Counters } from "../operations/counters.ts";
import { failLocked, MAX_RETRY_MS } from "./publications.ts";
import { retryDelay } from "./retries.ts";

/*
 * Queues publications again whose worker was lost, and fails those that no worker has pushed within a day. Any number of
 * servers can do this at the same time: each publication is checked again while its run is locked.
 */

const MAX_LOST_ATTEMPTS = 5;

interface PublicationReaperOptions {
  db: Db;
  pubsub: PubSub;
  counters: Counters;
  log: Logger;
}

export async function reapPublications({
  db,
  pubsub,
}: Pick<PublicationReaperOptions, "db" | "pubsub">): Promise<void> {
  for (const overdue of await listOverduePublications(db, { maxQueuedMs: MAX_RETRY_MS })) {
    await reapPublication(db, overdue.publication_id, overdue.run_id);
    pubsub.publish(topics.run(overdue.run_id));
    pubsub.publish(topics.publications);
  }
}

async function reapPublication(db: Db, publicationId: string, runId: string): Promise<void> {
  await db.begin(async (tx) => {
    if (!(await lockRunState(tx, runId))) return;
    const row = await findPublication(tx, publicationId);
    if (row?.state === "QUEUED" && (row.waited_ms ?? 0) >= MAX_RETRY_MS) {
      const last = row.status_message?.message;
      const message = last
        ? `It was retried for 24 hours. The last problem was: ${last}`
        : "No worker pushed it within 24 hours. Start a worker, or upgrade the workers if their version is older than the server's.";
      await failLocked(tx, row, { message, errorCode: "resource_unavailable" });
    } else if (row && (await isLeaseExpired(tx, publicationId))) {
      const lost_attempts = row.lost_attempts + 1;
      const message = `The worker was lost in each of ${lost_attempts} attempts.`;
      if (lost_attempts >= MAX_LOST_ATTEMPTS) {
        await failLocked(tx, row, { message, errorCode: "worker_lost" });
        return;
      }
      const dueInMs = retryDelay(lost_attempts);
      await changePublication(tx, publicationId, { state: "QUEUED", lost_attempts, dueInMs });
    }
  });
}

/** Starts the reaper, which checks publications when it is triggered. */
export function startPublicationReaper(options: PublicationReaperOptions): Ticker {
  const { counters, log } = options;
  return startTicker({
    task: () => reapPublications(options),
    onError(error) {
      counters.failed("publications");
      log.warn({ error }, "failed to check overdue publications");
    },
  });
}
