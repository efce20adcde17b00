import { readFileSync } from "node:fs";
import { Uuid } from "@outrider/contract/text";
import type { FastifyInstance } from "fastify";
import { requireScope } from "../engine/principal.ts";
import { notFound, Refusal } from "../engine/refusal.ts";
import { getRun } from "../engine/runs.ts";
import type { Authenticator } from "./auth.ts";
import type { Services } from "./call.ts";
import { registerDocs } from "./docs.ts";
import { admitScrapers } from "./metrics/scrapers.ts";
import type { Metrics } from "./metrics.ts";
import { subjectOf } from "./rate-limits.ts";
import { BASE } from "./request.ts";
import { sendTranscript } from "./transcript.ts";
import { wantsPage } from "./web.ts";

const openapi = readFileSync(new URL("../../../../openapi.json", import.meta.url), "utf8");

interface ServiceOptions {
  services: Services;
  metrics: Metrics;
  authenticator: Authenticator;
}

/** What operators and browsers ask for, beside the calls of the API. */
export function registerService(app: FastifyInstance, { services, metrics, authenticator }: ServiceOptions) {
  const admit = admitScrapers(authenticator);
  app.get("/healthz", { config: { operation: "health" } }, async () => ({ status: "ok" }));

  app.get("/readyz", { config: { operation: "readiness" } }, async () => {
    if (services.stopping.aborted) throw new Refusal("resource_unavailable", "The service is stopping.");
    await services.pulse.bounded(askDatabase);
    return { status: "ready" };
  });

  // Anybody may ask, as often as they like: those who ask in the same moment are told the same.
  let asked: Promise<unknown> | undefined;
  function askDatabase() {
    asked ??= services.db`select 1`.finally(() => {
      asked = undefined;
    });
    return asked;
  }

  app.get("/metrics", { config: { operation: "metrics" } }, async (request, reply) => {
    await admit(request, reply);
    return reply.type(metrics.contentType).send(await metrics.text());
  });

  app.get(`${BASE}/openapi.json`, { config: { operation: "openapi" } }, async (_request, reply) =>
    reply.type("application/json; charset=utf-8").send(openapi),
  );

  // What a run's session_link opens: a page for people; with a key it answers the transcript.
  app.get<{ Params: { runId: string } }>(
    "/runs/:runId",
    { config: { operation: "session" } },
    async (request, reply) => {
      if (wantsPage(request)) return app.sendPage(request, reply);
      const principal = await authenticator.authenticate(request, reply);
      requireScope(principal, "runs:read");
      const { success, data: runId } = Uuid.safeParse(request.params.runId);
      if (!success) throw notFound("run");
      const { db, searches } = services;
      const run = await getRun(db, principal, runId);
      await sendTranscript({ db, searches, subject: subjectOf(principal), run, request, reply });
      return reply;
    },
  );

  registerDocs(app, { openapi: () => openapi });
}
