import type { Logger } from "pino";
import type { Db } from "../../store/connection/db.ts";
import { deleteOldShells, listOverdueShells, type OverdueReason } from "../../store/shells.ts";
import { startTicker, type Ticker } from "../../ticker.ts";
import type { Vault } from "../auth/vault.ts";
import { type PubSub, topics } from "../live/pubsub.ts";
import type { Counters } from "../operations/counters.ts";
import { close } from "./shells.ts";

/*
 * Closes shells that exceed a limit, and deletes the data of closed ones. Any number of servers can do this at the same
 * time: each shell is checked again while its row is locked.
 */

const DELETE_EVERY_MS = 30_000;

const messages: Record<OverdueReason, string> = {
  lease: "The worker that ran the shell was lost. Open a new shell.",
  client: "The client was disconnected for more than a minute.",
  idle: "The shell had no input and no output for 15 minutes.",
  time: "The shell was open for an hour, which is the maximum.",
  queue: "The shell did not open within an hour.",
  credential: "The key or session that opened the shell is no longer valid.",
};

interface ShellReaperOptions {
  db: Db;
  vault: Vault;
  pubsub: PubSub;
  counters: Counters;
  log: Logger;
}

export async function reapShells({ db, vault, pubsub, log }: ShellReaperOptions): Promise<void> {
  for (const { shell_id } of await listOverdueShells(db)) {
    const isClosed = await db.begin(async (tx) => {
      const [overdue] = await listOverdueShells(tx, shell_id);
      return overdue && close(tx, { vault, log }, shell_id, { message: messages[overdue.reason] });
    });
    if (isClosed) pubsub.publish(topics.shell(shell_id));
  }
}

/** Starts the reaper, which closes overdue shells when it is triggered. */
export function startShellReaper(options: ShellReaperOptions): Ticker {
  const { db, counters, log } = options;
  const onError = (error: unknown) => {
    counters.failed("shells");
    log.warn({ error }, "failed to close overdue shells or to delete old ones");
  };
  const closing = startTicker({ task: () => reapShells(options), onError });
  const deletion = startTicker({ everyMs: DELETE_EVERY_MS, task: () => deleteOldShells(db), onError });
  return {
    trigger: closing.trigger,
    async stop() {
      await Promise.all([closing.stop(), deletion.stop()]);
    },
  };
}
