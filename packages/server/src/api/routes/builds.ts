import type { Build } from "@outrider/contract/build";
import { notFound } from "../../engine/api-error.ts";
import { mayUseEnvironment, requireEnvironment } from "../../engine/auth/environment-access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { requestBuild } from "../../engine/builds/builds.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { findRevokedCredentials } from "../../store/auth/credentials.ts";
import { findBuild, listBuildEvents, listBuilds } from "../../store/builds.ts";
import type { Sql } from "../../store/connection/db.ts";
import { created, type Handlers, ok } from "../pipeline/call.ts";
import { respondWithEvents } from "../streams/event-log.ts";

/** How long a stream waits for a notification before it polls. */
const POLL_MS = 800;

interface BuildPath {
  environmentId: string;
  buildId: string;
}

const isFinished = ({ state }: Build) => state === "READY" || state === "FAILED";

async function requireBuild(sql: Sql, principal: Principal, path: BuildPath): Promise<Build> {
  const build = mayUseEnvironment(principal, path.environmentId) ? await findBuild(sql, path) : undefined;
  if (!build) throw notFound("build");
  return build;
}

export const buildHandlers: Pick<Handlers, "listBuilds" | "createBuild" | "getBuild" | "listBuildEvents"> = {
  async listBuilds({ sql, principal, params }) {
    await requireEnvironment(sql, principal, params.environmentId);
    return ok({ builds: await listBuilds(sql, params.environmentId) });
  },

  async createBuild({ sql, services, principal, params, publish }) {
    const environment = await requireEnvironment(sql, principal, params.environmentId);
    const { build, isNew } = await requestBuild(sql, services.policy, principal, environment);
    if (!isNew) return ok(build);
    publish(topics.queue);
    return created(build);
  },

  async getBuild({ sql, principal, params }) {
    return ok(await requireBuild(sql, principal, params));
  },

  async listBuildEvents(call) {
    const { sql, services, principal, params } = call;
    const { db, pubsub } = services;
    const { buildId } = params;
    const build = await requireBuild(sql, principal, params);
    return respondWithEvents(call, {
      async hasEnded(after) {
        if (!isFinished(build)) return false;
        return (await listBuildEvents(sql, { buildId, after, limit: 1 })).events.length === 0;
      },
      list: (after, limit) => listBuildEvents(sql, { buildId, after, limit }),
      follow({ signal }) {
        let notified: Promise<unknown>;
        return {
          async read(after, limit) {
            notified = pubsub.next(topics.build(buildId), { ms: POLL_MS, signal });
            // Read the state first. If it is final, the events that are read after it are complete.
            const current = await findBuild(db, params);
            const page = await listBuildEvents(db, { buildId, after, limit });
            return { ...page, hasEnded: !current || isFinished(current) };
          },
          async wait() {
            if ((await findRevokedCredentials(db, [principal.credentialId])).length > 0) return false;
            await notified;
            return true;
          },
        };
      },
    });
  },
};
