import type { RunItem } from "@outrider/contract/run";
import type { FastifyReply } from "fastify";
import type { Principal } from "../engine/principal.ts";
import { Refusal } from "../engine/refusal.ts";
import { topics } from "../engine/wake.ts";
import { findSpentCredentials } from "../store/credentials.ts";
import { readClock } from "../store/db.ts";
import { listRuns, type RunFilter, type RunPage, type RunPosition } from "../store/run-list.ts";
import type { Services } from "./call.ts";
import { subjectOf } from "./rate-limits.ts";

/** A credential that is revoked is noticed within a second. */
const LOOK_AGAIN_MS = 800;
/** A change may commit after a later one: so far back is looked again, and what was said is not said twice. */
const OVERLAP_MS = 2_000;
const LIMIT = 500;

interface Hinting {
  services: Services;
  reply: FastifyReply;
  principal: Principal;
  filter: RunFilter;
}

/** Tells which runs have changed, no more: who wants to know how reads the run. */
export async function streamHints({ services, reply, principal, filter }: Hinting): Promise<void> {
  const { db, wake, streams } = services;
  const stream = streams.open(reply, principal);
  let since = await readClock(db);
  let said = new Map<string, string>();
  try {
    while (!stream.signal.aborted) {
      const heard = wake.next(topics.runs, { ms: LOOK_AGAIN_MS, signal: stream.signal });
      const earliest = filter.updated_after && filter.updated_after > since ? filter.updated_after : since;
      const changed = new Map<string, string>();
      for await (const { run_id, state, updated_at } of changesSince(services, principal, {
        ...filter,
        updated_after: earliest,
      })) {
        changed.set(run_id, updated_at);
        if (said.get(run_id) === updated_at) continue;
        await stream.write(`data: ${JSON.stringify({ run_id, state, updated_at })}\n\n`);
      }
      said = changed;
      const newest = [...changed.values()].at(-1);
      const behind = newest && new Date(Date.parse(newest) - OVERLAP_MS).toISOString();
      if (behind && behind > since) since = behind;
      if ((await findSpentCredentials(db, [principal.credentialId])).length > 0) break;
      await heard;
    }
  } finally {
    stream.end();
  }
}

/** Where others of the caller's are in the way, this is looked for again later. */
function notNow(error: unknown): RunPage {
  if (error instanceof Refusal) return { runs: [], hasMore: false };
  throw error;
}

/** In the order of the changes. One that changes again while we read comes a second time, where it stands then. */
async function* changesSince(
  { db, searches }: Services,
  principal: Principal,
  filter: RunFilter,
): AsyncGenerator<RunItem> {
  const sort = { by: "updated_at", order: "asc" } as const;
  let after: RunPosition | undefined;
  for (;;) {
    const place = { filter, sort, limit: LIMIT, ...(after ? { after } : {}) };
    const { runs, hasMore } = await searches
      .within(subjectOf(principal), () => listRuns(db, place))
      .catch(notNow);
    yield* runs;
    const last = runs.at(-1);
    if (!hasMore || !last) return;
    after = { value: last.updated_at, run_id: last.run_id };
  }
}
