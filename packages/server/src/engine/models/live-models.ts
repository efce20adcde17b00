import type { Logger } from "pino";
import type { Db, Sql } from "../../store/connection/db.ts";
import { findModelsVersion, findStoredModels, type StoredModels } from "../../store/model-providers.ts";
import { startTicker } from "../../ticker.ts";
import { type PubSub, topics } from "../live/pubsub.ts";
import type { Counters } from "../operations/counters.ts";
import { combineModels, type EffectiveModels, type EffectiveOptions } from "./effective-models.ts";
import { storeConfiguredKeys } from "./model-keys.ts";
import type { Models } from "./models.ts";

/** Ensures that a change takes effect on every server soon, even if its notification is lost. */
const POLL_MS = 2_000;

/**
 * The models of this installation as they are now. Admins change them at any time, on any server: pub/sub messages and
 * polling of one number update this cache. While the database is unreachable, the last known models apply. It forwards to
 * the current models instead of returning them, so that a part of the server that keeps it never keeps old models.
 */
export interface LiveModels extends Models {
  /** What the getters are read from. It never changes; a change replaces it. */
  current(): EffectiveModels;
  /** Reads the stored settings within a request, so that the response contains every committed change. */
  read(sql: Sql): Promise<EffectiveModels>;
  /** Combines stored settings as if they were committed. */
  combine(stored: StoredModels): EffectiveModels;
  /** Applies settings that have just been committed, without waiting for the next poll. */
  apply(changed: EffectiveModels): void;
  /** Starts to follow changes that other servers make. */
  follow(options: { pubsub: PubSub; counters: Counters }): { stop(): Promise<void> };
}

interface LiveModelsOptions extends EffectiveOptions {
  db: Db;
  log: Logger;
}

export async function openLiveModels(options: LiveModelsOptions): Promise<LiveModels> {
  const { db, vault, configured, log } = options;
  await storeConfiguredKeys(db, vault, log, configured);
  const combine = (stored: StoredModels) => combineModels(stored, options);
  let effective = combine(await findStoredModels(db));
  warn(effective);

  function warn({ settings }: EffectiveModels) {
    for (const problem of settings.problems) log.warn({ problem }, "stored model setting has no effect");
  }

  function apply(changed: EffectiveModels) {
    // A read that started earlier may end later.
    if (changed.version <= effective.version) return;
    effective = changed;
    const providers = changed.views().flatMap(({ name, available }) => (available ? name : []));
    const { default_model_id } = changed.models.list;
    log.info({ providers, default_model_id }, "models changed");
    warn(changed);
  }

  async function poll() {
    if ((await findModelsVersion(db)) === effective.version) return;
    apply(combine(await findStoredModels(db)));
  }

  return {
    get list() {
      return effective.models.list;
    },
    get listForAdmins() {
      return effective.models.listForAdmins;
    },
    require: (modelId, pointer) => effective.models.require(modelId, pointer),
    find: (modelId) => effective.models.find(modelId),
    work: (modelId) => effective.models.work(modelId),
    wireFormats: (modelId) => effective.models.wireFormats(modelId),
    sourceOf: (modelId) => effective.models.sourceOf(modelId),
    current: () => effective,
    async read(sql) {
      return combine(await findStoredModels(sql));
    },
    combine,
    apply,
    follow({ pubsub, counters }) {
      const ticker = startTicker({
        everyMs: POLL_MS,
        async task() {
          await poll();
          counters.succeeded("models");
        },
        onError(error) {
          counters.failed("models");
          log.debug({ error }, "failed to read model settings");
        },
      });
      const off = pubsub.on(topics.models, ticker.trigger);
      return {
        async stop() {
          off();
          await ticker.stop();
        },
      };
    },
  };
}
