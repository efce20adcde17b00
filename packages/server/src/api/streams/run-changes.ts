import type { RunItem } from "@outrider/contract/run";
import type { FastifyReply } from "fastify";
import { ApiError } from "../../engine/api-error.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { findRevokedCredentials } from "../../store/auth/credentials.ts";
import { readClock } from "../../store/connection/db.ts";
import { listRuns, type RunFilter, type RunPage, type RunPosition } from "../../store/runs/run-list.ts";
import type { Services } from "../pipeline/call.ts";
import { subjectOf } from "../pipeline/rate-limits.ts";

/** How long the stream waits for a notification before it polls. Each poll also detects revoked credentials. */
const POLL_MS = 800;
/** Transactions can commit out of order, so each poll rereads this period and skips changes that were already sent. */
const OVERLAP_MS = 2_000;
const PAGE_SIZE = 500;

interface StreamOptions {
  services: Services;
  reply: FastifyReply;
  principal: Principal;
  filter: RunFilter;
}

/** Streams the ID and state of each run that changes. Clients fetch the run if they need more. */
export async function streamRunChanges({ services, reply, principal, filter }: StreamOptions): Promise<void> {
  const { db, pubsub, streams } = services;
  const stream = streams.open(reply, principal);
  let since = await readClock(db);
  let sent = new Map<string, string>();
  try {
    while (!stream.signal.aborted) {
      const notified = pubsub.next(topics.runs, { ms: POLL_MS, signal: stream.signal });
      const earliest = filter.updated_after && filter.updated_after > since ? filter.updated_after : since;
      const changed = new Map<string, string>();
      for await (const { run_id, state, updated_at } of changesSince(services, principal, {
        ...filter,
        updated_after: earliest,
      })) {
        changed.set(run_id, updated_at);
        if (sent.get(run_id) === updated_at) continue;
        await stream.write(`data: ${JSON.stringify({ run_id, state, updated_at })}\n\n`);
      }
      sent = changed;
      const newest = [...changed.values()].at(-1);
      const overlapStart = newest && new Date(Date.parse(newest) - OVERLAP_MS).toISOString();
      if (overlapStart && overlapStart > since) since = overlapStart;
      if ((await findRevokedCredentials(db, [principal.credentialId])).length > 0) break;
      await notified;
    }
  } finally {
    stream.end();
  }
}

/** Skips a poll that is rejected because the caller has too many list requests. The next poll tries again. */
function skipIfRejected(error: unknown): RunPage {
  if (error instanceof ApiError) return { runs: [], hasMore: false };
  throw error;
}

/** Yields runs in the order in which they changed. A run that changes during the iteration is yielded again. */
async function* changesSince(
  { db, listLimiter }: Services,
  principal: Principal,
  filter: RunFilter,
): AsyncGenerator<RunItem> {
  const sort = { by: "updated_at", order: "asc" } as const;
  let after: RunPosition | undefined;
  for (;;) {
    const page = { filter, sort, limit: PAGE_SIZE, ...(after ? { after } : {}) };
    const { runs, hasMore } = await listLimiter
      .run(subjectOf(principal), () => listRuns(db, page))
      .catch(skipIfRejected);
    yield* runs;
    const last = runs.at(-1);
    if (!hasMore || !last) return;
    after = { value: last.updated_at, run_id: last.run_id };
  }
}
