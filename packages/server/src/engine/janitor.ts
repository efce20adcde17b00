import { limits } from "@outrider/contract/limits";
import type { Logger } from "pino";
import type { Db } from "../store/db.ts";
import { deleteOldIdempotencyKeys } from "../store/idempotency.ts";
import { deleteOldSessions } from "../store/sessions.ts";
import { deleteExpiredShares } from "../store/shares.ts";
import { deleteExpiredSignInLinks } from "../store/sign-in-links.ts";
import { deleteOldTries } from "../store/sign-in-tries.ts";

const EVERY_MS = 10 * 60_000;

/** Takes away what has had its time. */
export function startJanitor(db: Db, log: Logger): { stop(): Promise<void> } {
  const clean = () =>
    Promise.all([
      deleteOldIdempotencyKeys(db, limits.idempotency.hours),
      deleteExpiredShares(db),
      deleteExpiredSignInLinks(db),
      deleteOldSessions(db),
      deleteOldTries(db),
    ])
      .catch((error) => log.warn({ error }, "cannot clean up"))
      .then(() => {});
  let work = clean();
  const ticker = setInterval(() => {
    work = work.then(clean);
  }, EVERY_MS);
  return {
    async stop() {
      clearInterval(ticker);
      await work;
    },
  };
}
