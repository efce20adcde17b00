import type { Logger } from "pino";
import { deleteOldCosts } from "../store/budgets.ts";
import type { Db } from "../store/db.ts";
import { deleteOldWindows } from "../store/rates.ts";
import { deleteOldSessions } from "../store/sessions.ts";
import { deleteExpiredShares } from "../store/shares.ts";
import { deleteExpiredSignInLinks } from "../store/sign-in-links.ts";
import { deleteOldTries } from "../store/sign-in-tries.ts";
import type { Blobs } from "./blobs.ts";
import { type Retention, retain } from "./retention.ts";
import { sweepBlobs } from "./sweep.ts";
import type { Tally } from "./tally.ts";

const EVERY_MS = 10 * 60_000;
/** Looking at every blob takes longer than the rest. */
const SWEEP_EVERY = 6;

interface Household {
  db: Db;
  blobs: Blobs;
  retention: Retention;
  log: Logger;
}

/** Takes away what has had its time, and says what. */
export async function clean(
  { db, blobs, retention, log }: Household,
  { sweeps }: { sweeps: boolean },
): Promise<void> {
  await deleteExpiredShares(db);
  await deleteExpiredSignInLinks(db);
  await deleteOldSessions(db);
  await deleteOldTries(db);
  await deleteOldWindows(db);
  await deleteOldCosts(db);
  const taken = await retain(db, retention);
  const swept = sweeps ? await sweepBlobs(db, blobs.folder) : 0;
  const { idempotency_keys, ...ofRuns } = taken;
  if (swept + Object.values(ofRuns).reduce((sum, count) => sum + count, 0) > 0)
    log.info({ taken: { ...ofRuns, blobs: swept } }, "retention");
}

interface JanitorOptions extends Household {
  /** Asked before each round. */
  isWanted(): boolean;
  tally: Tally;
}

export function startJanitor(household: JanitorOptions): { stop(): Promise<void> } {
  const { log, isWanted, tally } = household;
  let round = 0;
  const once = async () => {
    if (!isWanted()) return;
    try {
      await clean(household, { sweeps: ++round % SWEEP_EVERY === 0 });
      tally.succeeded("janitor");
    } catch (error) {
      tally.failed("janitor");
      log.warn({ error }, "cannot clean up");
    }
  };
  let work = once();
  const ticker = setInterval(() => {
    work = work.then(once);
  }, EVERY_MS);
  return {
    async stop() {
      clearInterval(ticker);
      await work;
    },
  };
}
