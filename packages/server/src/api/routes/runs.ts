import { limits } from "@outrider/contract/limits";
import type { ListRunsQuery } from "@outrider/contract/query";
import type { Routes } from "@outrider/contract/routes";
import type { ListRunsResponse, RunSourceType } from "@outrider/contract/run";
import { visibleTo } from "../../engine/access.ts";
import { claimNew } from "../../engine/claims.ts";
import type { Principal } from "../../engine/principal.ts";
import { queueOf } from "../../engine/queue.ts";
import { badMember } from "../../engine/refusal.ts";
import { cancelRun, createRun, getRun, removeRun, withLink } from "../../engine/runs.ts";
import { topics } from "../../engine/wake.ts";
import type { Work } from "../../store/claims.ts";
import type { Sql } from "../../store/db.ts";
import { listUidsByEmail } from "../../store/people.ts";
import { listRuns, type RunFilter, type RunSort } from "../../store/run-list.ts";
import { gone, type Handler, type Handlers, ok, STREAMED } from "../call.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import { streamHints } from "../hints.ts";
import { subjectOf } from "../rate-limits.ts";
import { asksForStream } from "../sse.ts";

/** A label that the client gives itself; anything else is the API. */
function sourceOf(header: string | string[] | undefined): RunSourceType {
  const client = String(header ?? "")
    .split("/")[0]
    ?.toLowerCase();
  if (client === "cli") return "CLI";
  return client === "github-action" ? "GITHUB_ACTION" : "API";
}

const create: Handler<Pick<Routes["createRun"], "method" | "body">> = async ({
  sql,
  services,
  principal,
  body,
  traceId,
  request,
  say,
  afterwards,
}) => {
  services.intake.requireOpen();
  const source = principal.session ? "WEB_APP" : sourceOf(request.headers["x-outrider-client"]);
  const claimant = services.brake.givesWork() ? services.claimants.take() : undefined;
  let work: Work[] = [];
  if (claimant) afterwards((isCommitted) => claimant.settle(isCommitted ? work : []));
  const run = await createRun(
    sql,
    services,
    { principal, source, traceId },
    body,
    claimant &&
      (async (tx, runId) => {
        work = await claimNew(tx, services.rules, claimant.request, runId);
        return work.length > 0;
      }),
  );
  services.tally.add("runs_created");
  if (work.length === 0) say(topics.queue);
  say(topics.run(run.run_id));
  return { status: 200, body: run, headers: { location: `/api/v1/agent/runs/${run.run_id}` } };
};

const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

async function creatorUids(sql: Sql, principal: Principal, asked: string[]): Promise<string[]> {
  const names = asked.map((creator) => (creator === "me" ? principal.creator.uid : creator));
  const emails = names.filter((name) => !isUuid.test(name));
  const uids = names.filter((name) => isUuid.test(name)).map((uid) => uid.toLowerCase());
  return emails.length > 0 ? [...uids, ...(await listUidsByEmail(sql, emails))] : uids;
}

export async function filterOf(sql: Sql, principal: Principal, query: ListRunsQuery): Promise<RunFilter> {
  const { limit, cursor, sort_by, sort_order, config_name, name, creator, ...rest } = query;
  const names = config_name || name ? [...(config_name ?? []), ...(name ?? [])] : undefined;
  const only = visibleTo(principal);
  return {
    ...rest,
    ...(names ? { config_name: names } : {}),
    ...(creator ? { creator_uid: await creatorUids(sql, principal, creator) } : {}),
    ...(only ? { visible_to: only } : {}),
  } as RunFilter;
}

export const runHandlers: Pick<
  Handlers,
  "createRun" | "createRunAlias" | "listRuns" | "getRun" | "deleteRun" | "cancelRun"
> = {
  createRun: create,
  createRunAlias: create,

  async listRuns({ sql, services, principal, query, request, reply }) {
    const filter = await filterOf(sql, principal, query);
    if (asksForStream(request)) {
      const paging = (["limit", "cursor", "sort_by", "sort_order"] as const).find(
        (name) => query[name] !== undefined,
      );
      if (paging) throw badMember(paging, "goes with pages; a stream has none");
      await streamHints({ services, reply, principal, filter });
      return STREAMED;
    }
    const sort: RunSort = { by: query.sort_by ?? "created_at", order: query.sort_order ?? "desc" };
    const asked = { filter, sort };
    const limit = query.limit ?? limits.pageSize.default;
    const after = query.cursor ? readCursor(services.vault, asked, query.cursor) : undefined;
    const found = await services.searches.within(subjectOf(principal), async () => {
      if (request.raw.socket.destroyed) return { runs: [], hasMore: false };
      return listRuns(sql, { ...asked, limit, ...(after ? { after } : {}) });
    });
    const runs = found.runs.map((run) => withLink(run, services.origin()));
    const last = runs.at(-1);
    const has_next_page = found.hasMore;
    const next_cursor =
      has_next_page && last
        ? writeCursor(services.vault, asked, { value: last[sort.by], run_id: last.run_id })
        : undefined;
    const page: ListRunsResponse = {
      runs,
      page_info: { has_next_page, ...(next_cursor ? { next_cursor } : {}) },
    };
    return ok(page);
  },

  async getRun({ sql, services, principal, params }) {
    const run = withLink(await getRun(sql, principal, params.runId), services.origin());
    const queue = run.state === "QUEUED" ? await queueOf(sql, services.rules, run.run_id) : undefined;
    return ok({ ...run, ...(queue ? { queue } : {}) });
  },

  async cancelRun({ sql, principal, params, say }) {
    const { worker_id } = await cancelRun(sql, principal, params.runId);
    say(topics.run(params.runId));
    if (worker_id) say(topics.worker(worker_id));
    return ok({ run_id: params.runId, state: "CANCELLED" });
  },

  async deleteRun({ sql, principal, params, say }) {
    await removeRun(sql, principal, params.runId);
    say(topics.run(params.runId));
    return gone;
  },
};
