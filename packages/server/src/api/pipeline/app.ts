import { limits } from "@outrider/contract/limits";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { ApiError } from "../../engine/api-error.ts";
import { type Principal, requireScope } from "../../engine/auth/principal.ts";
import { RequestSpans } from "../../telemetry/request-spans.ts";
import { BodyLimiter } from "../http/body-limiter.ts";
import { limitBodyTime } from "../http/body-timeout.ts";
import { Cors } from "../http/cors.ts";
import { commonHeaders } from "../http/headers.ts";
import type { HttpServer } from "../http/http-server.ts";
import { BASE, recordRoutes, requireAcceptable } from "../http/request.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { isMissingPage, registerWeb, type Web } from "../pages/web.ts";
import { registerBlobs } from "../routes/blobs.ts";
import { registerService } from "../routes/service.ts";
import { registerShared } from "../routes/shared.ts";
import { registerSignIn } from "../routes/sign-in.ts";
import { createAuthenticator } from "./auth.ts";
import type { Services } from "./call.ts";
import { createErrorResponses, type ErrorResponses } from "./error-responses.ts";
import { execute } from "./execute.ts";
import { sendNegotiated } from "./negotiate.ts";
import { allOperations, type Operation } from "./operations.ts";
import { createRateLimits, subjectOf } from "./rate-limits.ts";
import { logRequest, operationOf, traceIdOf } from "./request-log.ts";

/** The maximum time that a shutdown waits for requests in progress. */
const SHUTDOWN_GRACE_MS = 8_000;

export interface AppOptions {
  services: Services;
  httpServer: Pick<HttpServer, "createServer" | "sendsHsts" | "certificate" | "connections">;
  web: Web;
  /** Addresses of proxies whose `X-Forwarded-For` is trusted. */
  trustProxy: string[];
  /** Origins whose pages may call the API with a key. */
  corsOrigins: string[];
  log: Logger;
}

/**
 * Builds the Fastify app. Every request passes through the same steps: trace ID and common headers, authentication and
 * scope check, body, handler (see execute.ts), response or problem document, log line and metrics.
 */
export function createApp({
  services: baseServices,
  httpServer,
  web,
  trustProxy,
  corsOrigins,
  log,
}: AppOptions): FastifyInstance {
  let errorResponses: ErrorResponses;
  const app = fastify({
    genReqId: traceIdOf,
    bodyLimit: limits.body,
    // A shutdown closes idle connections at once and lets requests in progress finish.
    forceCloseConnections: "idle",
    serverFactory: (listener) => httpServer.createServer(listener),
    trustProxy: trustProxy.length > 0 && trustProxy,
    routerOptions: { maxParamLength: 1_024 },
    frameworkErrors: (error, request, reply) => errorResponses.send(error, request, reply),
    clientErrorHandler: (error, socket) => errorResponses.sendToSocket(error, socket),
  });
  const bodyLimiter = new BodyLimiter();
  const metrics = createMetrics(baseServices, { httpServer, bodyLimiter });
  const services = {
    ...baseServices,
    quotas: { ...baseServices.quotas, onRejected: metrics.budgetRefused },
  };
  const rateLimits = createRateLimits({
    rates: services.rates,
    settings: services.quotas,
    onRejected: metrics.rateLimited,
  });
  const { sendsHsts } = httpServer;
  errorResponses = createErrorResponses({ services, metrics, sendsHsts, methodsOf: recordRoutes(app), log });
  const authenticator = createAuthenticator(services, rateLimits);
  const cors = new Cors(corsOrigins);
  const principals = new WeakMap<FastifyRequest, Principal>();
  const spans = new RequestSpans(services.telemetry);
  services.telemetry?.addMetrics(metrics.source);

  // Without this listener, Node itself would respond to an `Expect` header, without a problem document.
  app.server.on("checkExpectation", (request, response) => app.routing(request, response));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(commonHeaders(request.id, sendsHsts));
    spans.start(request, operationOf(request));
    limitBodyTime(request, reply, (socket) =>
      errorResponses.sendToSocket({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, socket),
    );
    const hosts = request.raw.headersDistinct.host ?? [];
    if (hosts.length > 1 || (!hosts[0] && request.raw.httpVersion === "1.1")) {
      throw new ApiError("invalid_request", "Send exactly one `Host` header.");
    }
    if (cors.apply(request, reply)) return reply.code(204).send();
    return undefined;
  });
  app.addHook("onResponse", async (request, reply) => {
    const operation = operationOf(request);
    metrics.requestCompleted({ operation, status: reply.statusCode, seconds: reply.elapsedTime / 1_000 });
    spans.run(request, () => logRequest(log, { request, reply, principal: principals.get(request) }));
    spans.end(request, reply.statusCode);
  });
  app.addHook("preClose", async () => {
    setTimeout(() => app.server.closeAllConnections(), SHUTDOWN_GRACE_MS).unref();
  });
  app.addHook("onClose", () => authenticator.close());
  // For some methods, such as QUERY, Fastify can reject a request before it checks whether the route exists.
  app.setErrorHandler((error, request, reply) =>
    request.is404 ? errorResponses.sendNotFound(request, reply) : errorResponses.send(error, request, reply),
  );
  app.setNotFoundHandler((request, reply) =>
    isMissingPage(request)
      ? app.sendPage(request, reply.code(404))
      : errorResponses.sendNotFound(request, reply),
  );
  registerWeb(app, web);
  registerService(app, { services, metrics, authenticator });
  registerShared(app, { ...services, rateLimits });
  registerSignIn(app, { services, authenticator, rateLimits });
  registerBlobs(app, { blobs: services.blobs, authenticator });
  for (const operation of allOperations) {
    const { id, route } = operation;
    app.route({
      method: route.method,
      url: BASE + route.path.replace(/\{(\w+)\}/g, ":$1"),
      bodyLimit: route.attachments || route.scope === "worker" ? limits.bodyWithAttachments : limits.body,
      config: { operation: id },
      onRequest: (request, reply) => admit(operation, request, reply),
      handler: async (request, reply) => {
        const principal = principals.get(request) as Principal;
        const context = { services, rateLimits, errorResponses };
        const response = await spans.run(request, () =>
          execute(operation, context, { principal, request, reply }),
        );
        return response && sendNegotiated(operation, request, reply, response);
      },
    });
  }
  return app;

  /** Checks the caller before the body is read, so that an unauthenticated client cannot upload sixteen megabytes. */
  async function admit({ route }: Operation, request: FastifyRequest, reply: FastifyReply) {
    const principal = await authenticator.authenticate(request, reply);
    principals.set(request, principal);
    requireScope(principal, route.scope);
    requireAcceptable(route, request);
    // Workers may write in read-only mode, so that they can finish the runs in progress.
    const isWrite = route.method !== "GET" && route.scope !== "worker";
    if (isWrite && !route.allowedInReadOnly) services.maintenance.requireWritable();
    if (route.scope !== "worker") await bodyLimiter.admit(subjectOf(principal), request, reply);
  }
}
