import { ListEventsQuery } from "@outrider/contract/query";
import { Uuid } from "@outrider/contract/text";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { notFound } from "../engine/refusal.ts";
import { getSharedRun, requireShared } from "../engine/shares.ts";
import { findArtifact } from "../store/artifacts.ts";
import type { Services } from "./call.ts";
import { sendArtifact, sendDiff } from "./files.ts";
import { parse } from "./parse.ts";
import { readQuery } from "./query.ts";
import { type RateLimits, strangerOf } from "./rate-limits.ts";
import { requireAcceptable, SHARED } from "./request.ts";
import { sendTranscript, transcriptMedia } from "./transcript.ts";
import { wantsPage } from "./web.ts";

/** The address is the right to read, so it must not travel on with a click, into a cache or into a search engine. */
const discreet = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex",
};

const transcript = { answers: { 200: { description: "The transcript.", media: transcriptMedia } } };

/** What a share link opens: one run, for whoever has the link. No key is asked for, and none adds anything. */
export function registerShared(
  app: FastifyInstance,
  {
    db,
    blobs,
    searches,
    rateLimits,
  }: Pick<Services, "db" | "blobs" | "searches"> & { rateLimits: RateLimits },
) {
  app.register(async (corner) => {
    // Last, so that it holds for the page too, which has headers of its own.
    corner.addHook("onSend", async (_request, reply) => {
      reply.headers(discreet);
    });

    /** A link has no owner whose allowance it could use up, and whoever has it may pass it on. */
    const admit = async <T>(request: FastifyRequest, reply: FastifyReply, find: () => Promise<T>) => {
      const found = await rateLimits.guess(request, find);
      await rateLimits.countStranger(request, reply);
      return found;
    };

    corner.get<{ Params: { token: string } }>(
      `${SHARED}/:token`,
      { config: { operation: "shared.transcript" } },
      async (request, reply) => {
        if (wantsPage(request)) return app.sendPage(request, reply);
        const run = await admit(request, reply, () => getSharedRun(db, request.params.token));
        requireAcceptable(transcript, request);
        const [, query = ""] = request.url.split("?");
        const part = parse(ListEventsQuery, readQuery(query, ListEventsQuery), "query");
        const subject = strangerOf(request);
        await sendTranscript({ db, searches, subject, run, request, reply, isShared: true, part });
        return reply;
      },
    );

    corner.get<{ Params: { token: string } }>(
      `${SHARED}/:token/diff`,
      { config: { operation: "shared.diff" } },
      async (request, reply) => {
        const runId = await admit(request, reply, () => requireShared(db, request.params.token));
        await sendDiff(reply, { sql: db, blobs, runId });
        return reply;
      },
    );

    corner.get<{ Params: { token: string; artifactId: string } }>(
      `${SHARED}/:token/artifacts/:artifactId`,
      { config: { operation: "shared.artifact" } },
      async (request, reply) => {
        const runId = await admit(request, reply, () => requireShared(db, request.params.token));
        const { data: artifactId } = Uuid.safeParse(request.params.artifactId);
        const artifact = artifactId && (await findArtifact(db, artifactId));
        if (!artifact || artifact.run_id !== runId) throw notFound("artifact");
        await sendArtifact(reply, { blobs, artifact });
        return reply;
      },
    );
  });
}
