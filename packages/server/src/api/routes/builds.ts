import type { Build } from "@outrider/contract/build";
import { limits } from "@outrider/contract/limits";
import type { FastifyReply } from "fastify";
import { requestBuild } from "../../engine/builds.ts";
import type { Principal } from "../../engine/principal.ts";
import { badMember, notFound } from "../../engine/refusal.ts";
import { topics } from "../../engine/wake.ts";
import { findBuild, listBuildEvents, listBuilds } from "../../store/builds.ts";
import { findSpentCredentials } from "../../store/credentials.ts";
import type { Sql } from "../../store/db.ts";
import { findEnvironment } from "../../store/environments.ts";
import { created, gone, type Handlers, ok, type Services, STREAMED } from "../call.ts";
import { asksForStream, lastEventId } from "../sse.ts";

const BATCH = 500;
const LOOK_AGAIN_MS = 800;

const isFinished = ({ state }: Build) => state === "READY" || state === "FAILED";

async function requireBuild(sql: Sql, place: { environmentId: string; buildId: string }): Promise<Build> {
  const build = await findBuild(sql, place);
  if (!build) throw notFound("build");
  return build;
}

interface Following {
  services: Services;
  reply: FastifyReply;
  place: { environmentId: string; buildId: string };
  principal: Principal;
  after: number;
}

async function follow({ services, reply, place, principal, after }: Following): Promise<void> {
  const { db, wake, streams } = services;
  const stream = streams.open(reply, principal);
  try {
    for (let seq = after; !stream.signal.aborted; ) {
      const heard = wake.next(topics.build(place.buildId), { ms: LOOK_AGAIN_MS, signal: stream.signal });
      // The state is read before the events: if it is final, nothing comes behind what is read next.
      const build = await findBuild(db, place);
      const events = await listBuildEvents(db, { buildId: place.buildId, after: seq, limit: BATCH });
      for (const event of events) {
        await stream.write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      }
      seq = events.at(-1)?.seq ?? seq;
      if (events.length === BATCH) continue;
      if (
        !build ||
        isFinished(build) ||
        (await findSpentCredentials(db, [principal.credentialId])).length > 0
      )
        break;
      await heard;
    }
  } finally {
    stream.end();
  }
}

export const buildHandlers: Pick<Handlers, "listBuilds" | "createBuild" | "getBuild" | "listBuildEvents"> = {
  async listBuilds({ sql, params }) {
    if (!(await findEnvironment(sql, params.environmentId))) throw notFound("environment");
    return ok({ builds: await listBuilds(sql, params.environmentId) });
  },

  async createBuild({ sql, params, say }) {
    const environment = await findEnvironment(sql, params.environmentId);
    if (!environment) throw notFound("environment");
    const build = await requestBuild(sql, environment);
    say(topics.queue);
    return created(build);
  },

  async getBuild({ sql, params }) {
    return ok(await requireBuild(sql, params));
  },

  async listBuildEvents({ sql, services, principal, params, query, request, reply }) {
    const build = await requireBuild(sql, params);
    const { buildId } = params;
    const lastSeen = lastEventId(request);
    if (asksForStream(request)) {
      if (query.limit !== undefined) throw badMember("limit", "goes with pages; a stream has none");
      const after = lastSeen ?? query.after ?? 0;
      const [next] = await listBuildEvents(sql, { buildId, after, limit: 1 });
      if (isFinished(build) && !next) return gone;
      await follow({ services, reply, place: params, principal, after });
      return STREAMED;
    }
    const limit = query.limit ?? limits.eventPageSize.default;
    const rows = await listBuildEvents(sql, { buildId, after: query.after ?? 0, limit: limit + 1 });
    const events = rows.slice(0, limit);
    const has_next_page = rows.length > limit;
    const next_cursor = has_next_page ? String(events.at(-1)?.seq) : undefined;
    return ok({ events, page_info: { has_next_page, ...(next_cursor ? { next_cursor } : {}) } });
  },
};
