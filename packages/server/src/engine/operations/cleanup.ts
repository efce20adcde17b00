import type { Logger } from "pino";
import { deleteOldSessions } from "../../store/auth/sessions.ts";
import { deleteOldAttempts } from "../../store/auth/sign-in-attempts.ts";
import { deleteExpiredSignInLinks } from "../../store/auth/sign-in-links.ts";
import { deleteOldCosts } from "../../store/budgets.ts";
import type { Db } from "../../store/connection/db.ts";
import { deleteUnusedRequirements } from "../../store/dispatch/requirements.ts";
import { deleteOldFileRequests } from "../../store/file-requests.ts";
import { deleteOldProposals } from "../../store/proposals.ts";
import { deleteOldWindows } from "../../store/rates.ts";
import { deleteOldDismissals } from "../../store/runs/attention.ts";
import { deleteExpiredShares } from "../../store/runs/shares.ts";
import { startTicker, type Ticker } from "../../ticker.ts";
import type { Blobs } from "../blobs.ts";
import { collectBlobs } from "./blob-gc.ts";
import type { Counters } from "./counters.ts";
import { applyRetention, type Retention } from "./retention.ts";

const EVERY_MS = 10 * 60_000;
/**
 * Blobs are collected only in every sixth round, because listing all of them takes longer than everything else.
 */
const COLLECT_BLOBS_EVERY = 6;

interface CleanupContext {
  db: Db;
  blobs: Blobs;
  retention: Retention;
  log: Logger;
}

/** Deletes expired data and logs what was deleted. */
export async function clean(
  { db, blobs, retention, log }: CleanupContext,
  { collectsBlobs }: { collectsBlobs: boolean },
): Promise<void> {
  await deleteExpiredShares(db);
  await deleteExpiredSignInLinks(db);
  await deleteOldSessions(db);
  await deleteOldAttempts(db);
  await deleteOldWindows(db);
  await deleteOldCosts(db);
  await deleteOldProposals(db);
  await deleteOldFileRequests(db);
  await deleteOldDismissals(db);
  await deleteUnusedRequirements(db);
  const { idempotency_keys, ...deleted } = await applyRetention(db, retention);
  const deletedBlobs = collectsBlobs ? await collectBlobs(db, blobs.storage) : 0;
  if (deletedBlobs + Object.values(deleted).reduce((sum, count) => sum + count, 0) > 0)
    log.info({ deleted: { ...deleted, blobs: deletedBlobs } }, "retention applied");
}

interface CleanupOptions extends CleanupContext {
  /** Called before each round. If it returns false, the round is skipped. */
  isEnabled(): boolean;
  counters: Counters;
}

/** Runs `clean` immediately and then every ten minutes. */
export function startCleanup(options: CleanupOptions): Ticker {
  const { log, isEnabled, counters } = options;
  let round = 0;
  const ticker = startTicker({
    everyMs: EVERY_MS,
    async task() {
      if (!isEnabled()) return;
      await clean(options, { collectsBlobs: ++round % COLLECT_BLOBS_EVERY === 0 });
      counters.succeeded("cleanup");
    },
    onError(error) {
      counters.failed("cleanup");
      log.warn({ error }, "cleanup failed");
    },
  });
  ticker.trigger();
  return ticker;
}
