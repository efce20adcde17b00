import { limits } from "@outrider/contract/limits";
import type { ListRunsQuery } from "@outrider/contract/query";
import type { Routes } from "@outrider/contract/routes";
import type { ListRunsResponse, RunSourceType } from "@outrider/contract/run";
import { invalidField } from "../../engine/api-error.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { visibleRuns } from "../../engine/auth/run-access.ts";
import { claimNew } from "../../engine/dispatch/claims.ts";
import { getQueueStatus } from "../../engine/dispatch/queue-reason.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { withChangedFiles } from "../../engine/runs/changed-files.ts";
import { cancelRun, createRun, getRun, removeRun, withLink } from "../../engine/runs/runs.ts";
import { listUidsByEmail } from "../../store/auth/users.ts";
import type { Sql } from "../../store/connection/db.ts";
import type { Work } from "../../store/dispatch/claims.ts";
import type { Requirement } from "../../store/dispatch/requirements.ts";
import { environmentsWithRepository } from "../../store/environments.ts";
import {
  countRunsUpTo,
  listRuns,
  type RunFilter,
  type RunPage,
  type RunSort,
} from "../../store/runs/run-list.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { type Handler, type Handlers, noContent, ok, STREAMED } from "../pipeline/call.ts";
import { subjectOf } from "../pipeline/rate-limits.ts";
import { streamRunChanges } from "../streams/run-changes.ts";
import { asksForStream } from "../streams/sse.ts";

/** Returns the source that the `X-Outrider-Client` header names, such as `cli/1.0`. Unknown clients count as `API`. */
function sourceOf(header: string | string[] | undefined): RunSourceType {
  const [client = ""] = String(header ?? "").split("/");
  const name = client.trim().toUpperCase().replaceAll("-", "_");
  // A header must not claim to be a signed-in browser.
  return name === "CLI" || name === "GITHUB_ACTION" ? name : "API";
}

const create: Handler<Pick<Routes["createRun"], "method" | "body">> = async ({
  sql,
  services,
  principal,
  body,
  traceId,
  request,
  publish,
  wake,
  onSettled,
}) => {
  services.admission.requireOpen();
  const source = principal.session ? "WEB_APP" : sourceOf(request.headers["x-outrider-client"]);
  let work: Work[] = [];
  let waiting: Requirement | undefined;
  const run = await createRun(sql, services, { principal, source, traceId }, body, (requirement) => {
    waiting = requirement;
    const waitingClaim = services.maintenance.dispatchEnabled()
      ? services.waitingClaims.take(requirement)
      : undefined;
    if (!waitingClaim) return undefined;
    onSettled((isCommitted) => waitingClaim.settle(isCommitted ? work : []));
    return async (tx, runId) => {
      work = await claimNew(tx, services.policy, waitingClaim.request, runId);
      return work.length > 0;
    };
  });
  services.counters.add("runs_created");
  if (work.length === 0) wake(waiting && { ...waiting, workerId: null });
  publish(topics.run(run.run_id));
  return { status: 200, body: run, headers: { location: `/api/v1/agent/runs/${run.run_id}` } };
};

const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Resolves user IDs, email addresses and `me` to user IDs. */
async function creatorUids(sql: Sql, principal: Principal, creators: string[]): Promise<string[]> {
  const names = creators.map((creator) => (creator === "me" ? principal.creator.uid : creator));
  const emails = names.filter((name) => !isUuid.test(name));
  const uids = names.filter((name) => isUuid.test(name)).map((uid) => uid.toLowerCase());
  return emails.length > 0 ? [...uids, ...(await listUidsByEmail(sql, emails))] : uids;
}

export async function filterOf(
  sql: Sql,
  { principal, gitHost }: { principal: Principal; gitHost: string },
  query: ListRunsQuery,
): Promise<RunFilter> {
  const { limit, cursor, sort_by, sort_order, include_total, ...filters } = query;
  const { config_name, name, creator, repository, ...rest } = filters;
  const names = config_name || name ? [...(config_name ?? []), ...(name ?? [])] : undefined;
  return {
    ...rest,
    ...(names ? { config_name: names } : {}),
    ...(creator ? { creator_uid: await creatorUids(sql, principal, creator) } : {}),
    ...(repository
      ? { repository_environments: await environmentsWithRepository(sql, repository, gitHost) }
      : {}),
    ...visibleRuns(principal),
  } as RunFilter;
}

export const runHandlers: Pick<
  Handlers,
  "createRun" | "createRunAlias" | "listRuns" | "getRun" | "deleteRun" | "cancelRun"
> = {
  createRun: create,
  createRunAlias: create,

  async listRuns({ sql, services, principal, query, request, reply }) {
    const filter = await filterOf(sql, { principal, gitHost: services.gitHost }, query);
    if (asksForStream(request)) {
      const paging = (["limit", "cursor", "sort_by", "sort_order", "include_total"] as const).find(
        (name) => query[name] !== undefined,
      );
      if (paging) throw invalidField(paging, "cannot be used with a stream");
      await streamRunChanges({ services, reply, principal, filter });
      return STREAMED;
    }
    const sort: RunSort = { by: query.sort_by ?? "created_at", order: query.sort_order ?? "desc" };
    const listQuery = { filter, sort };
    const limit = query.limit ?? limits.pageSize.default;
    const after = query.cursor ? readCursor(services.vault, listQuery, query.cursor) : undefined;
    const found = await services.listLimiter.run(
      subjectOf(principal),
      async (): Promise<RunPage & { count?: number | undefined }> => {
        if (request.raw.socket.destroyed) return { runs: [], hasMore: false };
        const page = await listRuns(sql, { ...listQuery, limit, ...(after ? { after } : {}) });
        return query.include_total
          ? { ...page, count: await countRunsUpTo(sql, filter, limits.countedRuns) }
          : page;
      },
    );
    const runs = found.runs.map((run) => withLink(run, services.origin()));
    const { last, count, hasMore: has_next_page } = found;
    const next_cursor = has_next_page && last ? writeCursor(services.vault, listQuery, last) : undefined;
    const page: ListRunsResponse = {
      runs,
      page_info: { has_next_page, ...(next_cursor ? { next_cursor } : {}) },
      ...(count === undefined
        ? {}
        : {
            total: {
              count: Math.min(count, limits.countedRuns),
              is_exact: count <= limits.countedRuns,
            },
          }),
    };
    return ok(page);
  },

  async getRun({ sql, services, principal, params }) {
    const found = await getRun(sql, principal, params.runId);
    const run = withLink(await withChangedFiles(found, { sql, blobs: services.blobs }), services.origin());
    const queue = run.state === "QUEUED" ? await getQueueStatus(sql, services.policy, run.run_id) : undefined;
    return ok({ ...run, ...(queue ? { queue } : {}) });
  },

  async cancelRun({ sql, principal, params, publish }) {
    const { worker_id } = await cancelRun(sql, principal, params.runId);
    publish(topics.run(params.runId));
    if (worker_id) publish(topics.worker(worker_id));
    return ok({ run_id: params.runId, state: "CANCELLED" });
  },

  async deleteRun({ sql, principal, params, publish }) {
    await removeRun(sql, principal, params.runId);
    publish(topics.run(params.runId));
    return noContent;
  },
};
