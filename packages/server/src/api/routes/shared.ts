import { ListEventsQuery } from "@outrider/contract/query";
import { Uuid } from "@outrider/contract/text";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { notFound } from "../../engine/api-error.ts";
import { withChangedFiles } from "../../engine/runs/changed-files.ts";
import { getSharedRun, requireShared } from "../../engine/runs/shares.ts";
import { findArtifact } from "../../store/runs/artifacts.ts";
import { parse } from "../http/parse.ts";
import { readQuery } from "../http/query.ts";
import { requireAcceptable, SHARED } from "../http/request.ts";
import { wantsPage } from "../pages/web.ts";
import type { Services } from "../pipeline/call.ts";
import { anonymousSubject, type RateLimits } from "../pipeline/rate-limits.ts";
import { sendTranscript, transcriptMedia } from "../streams/transcript.ts";
import { sendArtifact, sendDiff } from "./files.ts";

/** Prevents leaks through referrers, caches and search engines, because the URL alone grants access. */
const privacyHeaders = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex",
};

const transcript = { responses: { 200: { description: "The transcript.", media: transcriptMedia } } };

/** Registers the routes for share links. Anyone who has a link can view its run, and API keys are ignored. */
export function registerShared(
  app: FastifyInstance,
  {
    db,
    blobs,
    listLimiter,
    rateLimits,
  }: Pick<Services, "db" | "blobs" | "listLimiter"> & { rateLimits: RateLimits },
) {
  app.register(async (scope) => {
    // These headers are set in onSend, so that they also override the page's headers.
    scope.addHook("onSend", async (_request, reply) => {
      reply.headers(privacyHeaders);
    });

    /** Counts requests by network: links can be passed on, and must not use up the owner's rate limit. */
    const admit = async <T>(request: FastifyRequest, reply: FastifyReply, find: () => Promise<T>) => {
      const found = await rateLimits.guess(request, find);
      await rateLimits.countAnonymous(request, reply);
      return found;
    };

    scope.get<{ Params: { token: string } }>(
      `${SHARED}/:token`,
      { config: { operation: "shared.transcript" } },
      async (request, reply) => {
        if (wantsPage(request)) return app.sendPage(request, reply);
        const found = await admit(request, reply, () => getSharedRun(db, request.params.token));
        requireAcceptable(transcript, request);
        const [, query = ""] = request.url.split("?");
        const range = parse(ListEventsQuery, readQuery(query, ListEventsQuery), "query");
        const subject = anonymousSubject(request);
        const run = await withChangedFiles(found, { sql: db, blobs });
        await sendTranscript({ db, listLimiter, subject, run, request, reply, isShared: true, range });
        return reply;
      },
    );

    scope.get<{ Params: { token: string } }>(
      `${SHARED}/:token/diff`,
      { config: { operation: "shared.diff" } },
      async (request, reply) => {
        const runId = await admit(request, reply, () => requireShared(db, request.params.token));
        await sendDiff(reply, { sql: db, blobs, runId });
        return reply;
      },
    );

    scope.get<{ Params: { token: string; artifactId: string } }>(
      `${SHARED}/:token/artifacts/:artifactId`,
      { config: { operation: "shared.artifact" } },
      async (request, reply) => {
        const runId = await admit(request, reply, () => requireShared(db, request.params.token));
        const { data: artifactId } = Uuid.safeParse(request.params.artifactId);
        const artifact = artifactId && (await findArtifact(db, artifactId));
        if (!artifact || artifact.run_id !== runId) throw notFound("artifact");
        await sendArtifact(request, reply, { blobs, artifact });
        return reply;
      },
    );
  });
}
