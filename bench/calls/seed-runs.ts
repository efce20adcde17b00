import { randomBytes } from "node:crypto";
import { hashKey } from "../../packages/server/src/engine/auth/keys.ts";
import { principalOf } from "../../packages/server/src/engine/auth/principal.ts";
import { openVault } from "../../packages/server/src/engine/auth/vault.ts";
import { openHarnesses } from "../../packages/server/src/engine/harnesses/harnesses.ts";
import { openModels } from "../../packages/server/src/engine/models/models.ts";
import { createRun } from "../../packages/server/src/engine/runs/runs.ts";
import { findKeyOwner, type KeyOwner } from "../../packages/server/src/store/auth/keys.ts";
import type { Db } from "../../packages/server/src/store/connection/db.ts";

const BATCH = 500;
/** One of ten runs failed: enough for full pages, and few enough for the filter to matter. */
const FAILED_EVERY = 10;

export function promptOf(number: number): string {
  return `Fix the flaky test number ${number} in packages/server.

It fails about once in twenty runs on the continuous integration server, and never on a laptop. Find out why
before you change anything, explain the cause in the commit message, and leave the other tests as they are.`;
}

/** Creates runs with the service's own code, as many days of use would. */
export async function seedRuns(db: Db, { key, count }: { key: string; count: number }): Promise<void> {
  const owner = (await findKeyOwner(db, hashKey(key) as Buffer)) as KeyOwner;
  const origin = {
    principal: principalOf(owner),
    source: "API",
    traceId: randomBytes(16).toString("hex"),
  } as const;
  const models = openModels({ providers: {}, aliases: {} });
  const services = {
    vault: openVault(randomBytes(32)),
    models,
    harnesses: openHarnesses({}, models),
    quotas: {},
  };
  for (let start = 0; start < count; start += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - start) }, (_, index) => start + index);
    await db.begin((tx) =>
      Promise.all(numbers.map((number) => createRun(tx, services, origin, { prompt: promptOf(number) }))),
    );
  }
  await db`
    with ended as (
      select run_id, case when row_number() over (order by run_id) % ${FAILED_EVERY} = 0
        then 'FAILED' else 'SUCCEEDED' end as state from runs
    ), head as (
      update run_state h set state = e.state, phase = 'done', attempt = 1 from ended e
      where e.run_id = h.run_id
    )
    update runs r set state = e.state, started_at = created_at, finished_at = created_at from ended e
    where e.run_id = r.run_id`;
  await db`vacuum (analyze) runs, run_state, events, idempotency_keys, keys, users`;
}
