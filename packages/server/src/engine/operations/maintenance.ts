import type { MaintenanceRequest } from "@outrider/contract/maintenance";
import type { Logger } from "pino";
import type { Db, Tx } from "../../store/connection/db.ts";
import { findMaintenance, putMaintenance, type StoredMaintenance } from "../../store/maintenance.ts";
import { startTicker } from "../../ticker.ts";
import { type ApiError, unavailable } from "../api-error.ts";
import type { Principal } from "../auth/principal.ts";
import { type PubSub, topics } from "../live/pubsub.ts";
import type { Counters } from "./counters.ts";

/** Longer than the one minute for which SDKs retry automatically, so that the user sees the error. */
const RETRY_AFTER_SECONDS = 120;

const normal: StoredMaintenance = { admission: "open", queue: "open", mode: "normal" };

/**
 * Caches the current maintenance settings, because every request checks them and should not need a query. Pub/sub
 * messages update the cache, and so do the pings of the database's health (database-health.ts): a change takes effect on
 * every server within a second, even if its notification is lost. While the database is unreachable, the last known settings
 * apply.
 */
export interface MaintenanceView {
  current(): StoredMaintenance;
  acceptsRuns(): boolean;
  dispatchEnabled(): boolean;
  acceptsWrites(): boolean;
  requireAdmission(): void;
  requireWritable(): void;
  /** Applies a change that this server has just committed, without waiting for the next poll. */
  apply(changed: StoredMaintenance): void;
  /** Reads the current settings. */
  read(): Promise<void>;
  stop(): Promise<void>;
}

interface MaintenanceOptions {
  db: Db;
  pubsub: PubSub;
  counters: Counters;
  log: Logger;
}

export async function openMaintenance({
  db,
  pubsub,
  counters,
  log,
}: MaintenanceOptions): Promise<MaintenanceView> {
  let current = normal;

  /** Counts calls to `apply` and reads, so that results that are no longer current can be detected. */
  let applied = 0;
  let started = 0;
  let latest = 0;

  function update(found: StoredMaintenance) {
    const { admission, queue, mode, message, changed_at, changed_by } = found;
    if (changed_at !== current.changed_at)
      log.warn(
        { maintenance: { admission, queue, mode, message, changed_at, by: changed_by?.uid } },
        "maintenance mode changed",
      );
    current = found;
  }

  async function read() {
    const before = applied;
    const number = ++started;
    const found = (await findMaintenance(db)) ?? normal;
    // A read that overlaps a local change or a later read may return the previous settings, so its result is ignored.
    if (before === applied && number > latest) {
      latest = number;
      update(found);
    }
    counters.succeeded("maintenance");
  }
  await read();
  const readAndCount = () =>
    read().catch((error) => {
      counters.failed("maintenance");
      log.debug({ error }, "failed to read maintenance settings");
      throw error;
    });
  const reader = startTicker({ task: readAndCount });
  const off = pubsub.on(topics.maintenance, reader.trigger);

  const acceptsWrites = () => current.mode === "normal";
  const acceptsRuns = () => acceptsWrites() && current.admission === "open";
  return {
    current: () => current,
    acceptsRuns,
    dispatchEnabled: () => acceptsWrites() && current.queue === "open",
    acceptsWrites,
    requireAdmission() {
      if (!acceptsRuns()) throw rejection("The service does not accept new runs", current);
    },
    requireWritable() {
      if (!acceptsWrites()) throw rejection("The service is read-only", current);
    },
    apply(changed) {
      applied++;
      update(changed);
    },
    read: readAndCount,
    async stop() {
      off();
      await reader.stop();
    },
  };
}

function rejection(state: string, { message }: StoredMaintenance): ApiError {
  const reason = message
    ? `. Message from the operator: ${message}`
    : " during maintenance. Try again later.";
  return unavailable(`${state}${reason}`, RETRY_AFTER_SECONDS);
}

/** Replaces all settings. Fields that the request omits are reset to their defaults. */
export async function setMaintenance(
  tx: Tx,
  principal: Principal,
  request: MaintenanceRequest,
): Promise<StoredMaintenance> {
  const { admission = "open", queue = "open", mode = "normal", message } = request;
  await putMaintenance(tx, { admission, queue, mode, ...(message ? { message } : {}) }, principal.creator);
  return (await findMaintenance(tx)) as StoredMaintenance;
}
