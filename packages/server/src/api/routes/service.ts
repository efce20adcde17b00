import { readFileSync } from "node:fs";
import { Uuid } from "@outrider/contract/text";
import type { FastifyInstance } from "fastify";
import { ApiError, notFound } from "../../engine/api-error.ts";
import { requireScope } from "../../engine/auth/principal.ts";
import { withChangedFiles } from "../../engine/runs/changed-files.ts";
import { getRun } from "../../engine/runs/runs.ts";
import { BASE } from "../http/request.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createMetricsAuth } from "../metrics/metrics-auth.ts";
import { createAsset, sendAsset } from "../pages/asset.ts";
import { registerDocs } from "../pages/docs.ts";
import { wantsPage } from "../pages/web.ts";
import type { Authenticator } from "../pipeline/auth.ts";
import type { Services } from "../pipeline/call.ts";
import { subjectOf } from "../pipeline/rate-limits.ts";
import { sendTranscript } from "../streams/transcript.ts";

const openapi = readFileSync(new URL("../../../../../openapi.json", import.meta.url), "utf8");

interface ServiceOptions {
  services: Services;
  metrics: Metrics;
  authenticator: Authenticator;
}

/** Registers the routes for health checks, metrics, the OpenAPI document, the docs and run pages. */
export function registerService(app: FastifyInstance, { services, metrics, authenticator }: ServiceOptions) {
  const authenticate = createMetricsAuth(authenticator);
  app.get("/healthz", { config: { operation: "health" } }, async () => ({ status: "ok" }));

  app.get("/readyz", { config: { operation: "readiness" } }, async () => {
    if (services.stopping.aborted) throw new ApiError("resource_unavailable", "The server is shutting down.");
    await services.databaseHealth.failFast(pingDatabase);
    return { status: "ready" };
  });

  // Anyone may call /readyz at any rate, so concurrent requests share one query.
  let pingInProgress: Promise<unknown> | undefined;
  function pingDatabase() {
    pingInProgress ??= services.db`select 1`.finally(() => {
      pingInProgress = undefined;
    });
    return pingInProgress;
  }

  app.get("/metrics", { config: { operation: "metrics" } }, async (request, reply) => {
    await authenticate(request, reply);
    return reply.type(metrics.contentType).send(await metrics.text());
  });

  const document = createAsset(`${BASE}/openapi.json`, Buffer.from(openapi));
  app.get(document.address, { config: { operation: "openapi" } }, (request, reply) =>
    sendAsset(request, reply, { asset: document, headers: { "cache-control": "no-cache" } }),
  );

  // This is the target of a run's session_link. Browsers get a page; requests with a key get the transcript.
  app.get<{ Params: { runId: string } }>(
    "/runs/:runId",
    { config: { operation: "session" } },
    async (request, reply) => {
      if (wantsPage(request)) return app.sendPage(request, reply);
      const principal = await authenticator.authenticate(request, reply);
      requireScope(principal, "runs:read");
      const { success, data: runId } = Uuid.safeParse(request.params.runId);
      if (!success) throw notFound("run");
      const { db, blobs, listLimiter } = services;
      const run = await withChangedFiles(await getRun(db, principal, runId), { sql: db, blobs });
      await sendTranscript({ db, listLimiter, subject: subjectOf(principal), run, request, reply });
      return reply;
    },
  );

  registerDocs(app, { openapi: () => openapi });
}
