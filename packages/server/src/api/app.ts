import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Scope } from "@outrider/contract/key";
import { limits } from "@outrider/contract/limits";
import type { Route } from "@outrider/contract/route";
import { operations } from "@outrider/contract/routes";
import { workerOperations } from "@outrider/contract/worker-route";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { type Principal, requireScope } from "../engine/principal.ts";
import { Refusal } from "../engine/refusal.ts";
import type { Tx } from "../store/db.ts";
import { createAuthenticator } from "./auth.ts";
import { registerBlobs } from "./blobs.ts";
import { Bodies } from "./bodies.ts";
import { type Call, type Handler, type Handlers, type Result, type Services, STREAMED } from "./call.ts";
import type { Front } from "./front.ts";
import { headersOfAll } from "./headers.ts";
import { type Outcome, once, readIdempotencyKey } from "./idempotency.ts";
import { readJson } from "./json.ts";
import { createMetrics } from "./metrics.ts";
import { callersModesty, workersModesty } from "./modest.ts";
import { problem, refusalOf } from "./problem.ts";
import { createRateLimits, subjectOf } from "./rate-limits.ts";
import {
  BASE,
  bodyMembers,
  bodyOf,
  paramsOf,
  pathOf,
  queryOf,
  requireAcceptable,
  routesOf,
  shownPathOf,
} from "./request.ts";
import { artifactHandlers } from "./routes/artifacts.ts";
import { brakeHandlers } from "./routes/brake.ts";
import { buildHandlers } from "./routes/builds.ts";
import { environmentHandlers } from "./routes/environments.ts";
import { eventHandlers } from "./routes/events.ts";
import { followupHandlers } from "./routes/followups.ts";
import { identityHandlers } from "./routes/identities.ts";
import { installationHandlers } from "./routes/installation.ts";
import { keyHandlers } from "./routes/keys.ts";
import { modelHandlers } from "./routes/models.ts";
import { peopleHandlers } from "./routes/people.ts";
import { runHandlers } from "./routes/runs.ts";
import { secretHandlers } from "./routes/secrets.ts";
import { shareHandlers } from "./routes/shares.ts";
import { skillHandlers } from "./routes/skills.ts";
import { workerHandlers } from "./routes/worker.ts";
import { workersHandlers } from "./routes/workers.ts";
import { registerService } from "./service.ts";
import { registerShared } from "./shared.ts";
import { registerSignIn } from "./sign-in.ts";
import { asksForStream } from "./sse.ts";
import { boundBody, leave } from "./unread.ts";
import { registerWeb, type Web } from "./web.ts";

const handlers: Handlers = {
  ...runHandlers,
  ...followupHandlers,
  ...eventHandlers,
  ...environmentHandlers,
  ...buildHandlers,
  ...secretHandlers,
  ...modelHandlers,
  ...skillHandlers,
  ...identityHandlers,
  ...keyHandlers,
  ...peopleHandlers,
  ...workersHandlers,
  ...artifactHandlers,
  ...shareHandlers,
  ...installationHandlers,
  ...brakeHandlers,
};

interface Operation {
  id: string;
  route: Omit<Route, "scope" | "tag" | "summary" | "errors"> & { scope: Scope | "worker"; waits?: true };
  handler: Handler<never>;
}

/** The calls of the API and those of workers: two tables, one way of answering. */
const all: Operation[] = [
  ...operations.map(([id, route]) => ({ id, route, handler: handlers[id] as Handler<never> })),
  ...workerOperations.map(([id, route]) => ({
    id: `worker.${id}`,
    route: { ...route, scope: "worker" as const },
    handler: workerHandlers[id] as Handler<never>,
  })),
];

/** Their handlers see to a transaction themselves where they need one; for an idempotency key they are given one. */
const ownTransactions = new Set(["createRun", "createRunAlias"]);

/** After this long, a stop no longer waits for requests, be they at work or half sent. */
const FINISH_MS = 8_000;

export interface AppOptions {
  services: Services;
  front: Pick<Front, "createServer" | "isStrict" | "certificate" | "connections">;
  web: Web;
  /** Proxies whose word on where a request came from is taken. */
  trustProxy: string[];
  log: Logger;
}

/** The trace that the caller is part of, else a new one. It stands in answers, problems and log lines. */
function traceIdOf(request: IncomingMessage): string {
  const given = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(
    String(request.headers.traceparent ?? ""),
  )?.[1];
  return given && !/^0+$/.test(given) ? given : randomBytes(16).toString("hex");
}

/** From one request to one answer, the same way for every call. */
export function createApp({ services: parts, front, web, trustProxy, log }: AppOptions): FastifyInstance {
  const app = fastify({
    genReqId: traceIdOf,
    bodyLimit: limits.body,
    // Idle connections are closed at shutdown; requests at work are finished.
    forceCloseConnections: "idle",
    serverFactory: (answer) => front.createServer(answer),
    trustProxy: trustProxy.length > 0 && trustProxy,
    routerOptions: { maxParamLength: 1_024 },
    frameworkErrors: (error, request, reply) => answerFailure(error, request, reply),
    clientErrorHandler: answerUnreadable,
  });
  const bodies = new Bodies();
  const metrics = createMetrics(parts, { front, bodies });
  const services = { ...parts, quotas: { ...parts.quotas, refused: metrics.budgetRefused } };
  const rateLimits = createRateLimits({
    rates: services.rates,
    settings: services.quotas,
    refused: metrics.rateLimited,
  });
  const authenticator = createAuthenticator(services, rateLimits);
  const principals = new WeakMap<FastifyRequest, Principal>();
  const methodsOf = routesOf(app);

  // Node would answer by itself, and not with a problem.
  app.server.on("checkExpectation", (request, response) => app.routing(request, response));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(headersOfAll(request.id, front.isStrict));
    boundBody(request, reply, (socket) => answerUnreadable({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, socket));
    const hosts = request.raw.headersDistinct.host ?? [];
    if (hosts.length > 1 || (!hosts[0] && request.raw.httpVersion === "1.1")) {
      throw new Refusal("invalid_request", "Send one `Host` header.");
    }
  });
  app.addHook("onResponse", async (request, reply) => {
    const { operation = "other" } = request.routeOptions.config as { operation?: string };
    metrics.answered({ operation, status: reply.statusCode, seconds: reply.elapsedTime / 1_000 });
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    const { id: trace_id, method } = request;
    const { key, session } = principals.get(request) ?? {};
    const { key_id, session_id } = { ...key, ...session };
    const { ip: address } = request;
    const answered = {
      trace_id,
      operation,
      method,
      status: reply.statusCode,
      ms,
      key_id,
      session_id,
      address,
    };
    // Workers and open pages ask all the time: what goes well with them would bury what people want to read.
    const isRoutine = operation.startsWith("worker.") || operation === "getInstallation";
    if (isRoutine && reply.statusCode < 400) log.debug(answered, "answered");
    else log.info(answered, "answered");
  });
  app.addHook("preClose", async () => {
    setTimeout(() => app.server.closeAllConnections(), FINISH_MS).unref();
  });
  app.addHook("onClose", () => authenticator.close());
  // Fastify has its own demands on some methods (QUERY) before it looks whether the address takes them.
  app.setErrorHandler((error, request, reply) =>
    request.is404 ? answerUnknown(request, reply) : answerFailure(error, request, reply),
  );
  app.setNotFoundHandler((request, reply) => answerUnknown(request, reply));
  registerWeb(app, web);
  registerService(app, { services, metrics, authenticator });
  registerShared(app, { ...services, rateLimits });
  registerSignIn(app, { services, authenticator, rateLimits });
  registerBlobs(app, { blobs: services.blobs, authenticator });
  for (const operation of all) {
    const { id, route } = operation;
    app.route({
      method: route.method,
      url: BASE + route.path.replace(/\{(\w+)\}/g, ":$1"),
      bodyLimit: route.attachments || route.scope === "worker" ? limits.bodyWithAttachments : limits.body,
      config: { operation: id },
      onRequest: (request, reply) => admit(operation, request, reply),
      handler: (request, reply) => answer(operation, request, reply),
    });
  }
  return app;

  /** Before the body is read: a stranger's sixteen megabytes are not. */
  async function admit({ route }: Operation, request: FastifyRequest, reply: FastifyReply) {
    const principal = await authenticator.authenticate(request, reply);
    principals.set(request, principal);
    requireScope(principal, route.scope);
    requireAcceptable(route, request);
    // What workers send is the work that is under way, which is finished.
    const isWrite = route.method !== "GET" && route.scope !== "worker";
    if (isWrite && !route.whileReadOnly) services.brake.requireWritable();
    if (route.scope !== "worker") await bodies.admit(subjectOf(principal), request, reply);
  }

  async function answer({ id, route, handler }: Operation, request: FastifyRequest, reply: FastifyReply) {
    const principal = principals.get(request) as Principal;
    const raw = bodyOf(request);
    const json =
      raw.length > 0 ? readJson(raw, route.scope === "worker" ? workersModesty : callersModesty) : undefined;
    const said = new Set<string>();
    const over: ((isCommitted: boolean) => void)[] = [];
    const work = async (sql: Services["db"] | Tx): Promise<Result | typeof STREAMED> => {
      const call: Call<never> = {
        services,
        principal,
        params: paramsOf(route, request) as never,
        query: queryOf(route, request) as never,
        body: bodyMembers(route, json, raw.length) as never,
        sql: sql as never,
        traceId: request.id,
        request,
        reply,
        rateLimits,
        say: (topic) => said.add(topic),
        afterwards: (tell) => over.push(tell),
      };
      return handler(call);
    };
    const outcome = await carryOut().catch((error) => {
      for (const tell of over) tell(false);
      throw error;
    });
    for (const tell of over) tell(true);
    for (const topic of said) services.wake.say(topic);
    return outcome && send(reply, outcome);

    async function carryOut(): Promise<Outcome | undefined> {
      if (route.method === "GET" || route.waits) {
        const read = () => work(services.db);
        // A stream goes on for as long as it likes, and what has begun to be sent is sent.
        const isLate = () => asksForStream(request) || reply.sent || reply.raw.headersSent;
        const result = await (route.scope === "worker" ? read() : services.pulse.bounded(read, isLate));
        return result === STREAMED ? undefined : outcomeOf(result);
      }
      const writing = async (tx: Tx) => outcomeOf((await work(tx)) as Result);
      const key =
        route.method === "POST" ? readIdempotencyKey(request.headers["idempotency-key"]) : undefined;
      if (key === undefined) {
        return ownTransactions.has(id)
          ? outcomeOf((await work(services.db)) as Result)
          : services.db.begin(writing);
      }
      const scope = { owner_uid: principal.creator.uid, method: route.method, path: pathOf(request), key };
      return once(services.db, {
        scope,
        body: raw,
        work: writing,
        answerTo: (error) => outcomeOfFailure(error, request),
      });
    }
  }

  function outcomeOfFailure(error: unknown, request: FastifyRequest): Outcome {
    services.intake.heard(error);
    const refusal = refusalOf(error);
    if (!refusal) log.error({ trace_id: request.id, error }, "a request failed");
    const { code, message, faults, retryAfterSeconds } =
      refusal ?? new Refusal("internal_error", "The service met an error that it did not expect.");
    metrics.refused(code);
    const [origin, path] = [services.origin(), shownPathOf(request)];
    const occurrence = { origin, path, traceId: request.id, retryAfterSeconds };
    const { status, headers, body } = problem(code, message, faults, occurrence);
    return { status, headers, body: JSON.stringify(body) };
  }

  function answerFailure(error: unknown, request: FastifyRequest, reply: FastifyReply) {
    // What Fastify refuses by itself has passed no hook.
    return send(reply.headers(headersOfAll(request.id, front.isStrict)), outcomeOfFailure(error, request));
  }

  /** An address that exists for other methods says which. */
  function answerUnknown(request: FastifyRequest, reply: FastifyReply) {
    const methods = methodsOf(pathOf(request));
    if (methods.length === 0 || methods.includes(request.method)) {
      return answerFailure(new Refusal("resource_not_found", "Nothing has this address."), request, reply);
    }
    const allow = methods.join(", ");
    const refusal = new Refusal("method_not_allowed", `This address takes ${allow}.`);
    return answerFailure(refusal, request, reply.header("allow", allow));
  }

  /** What is not even HTTP: no request exists, so the problem is written to the socket. */
  function answerUnreadable(error: { code?: string }, socket: Socket) {
    if (socket.destroyed || error.code === "ECONNRESET") return;
    // A handshake that failed leaves nobody who could read an answer.
    if (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(error.code ?? "")) return void socket.destroy();
    const detail = unreadable[error.code ?? ""] ?? "This is not a valid HTTP request.";
    const traceId = randomBytes(16).toString("hex");
    metrics.refused("invalid_request");
    const { headers, body } = problem("invalid_request", detail, [], {
      origin: services.origin(),
      path: "",
      traceId,
    });
    const text = JSON.stringify(body);
    const lines = Object.entries({
      ...headersOfAll(traceId, front.isStrict),
      ...headers,
      "content-length": Buffer.byteLength(text),
      connection: "close",
    });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.write(`HTTP/1.1 400 Bad Request\r\n${head}\r\n${text}`);
    // Nobody else closes this connection if the client does not.
    leave(socket);
  }
}

const unreadable: Record<string, string> = {
  HPE_HEADER_OVERFLOW: `The headers are larger than ${limits.header} bytes.`,
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time.",
};

function outcomeOf({ status, headers = {}, body, replayBody }: Result): Outcome {
  return {
    status,
    headers: {
      ...headers,
      ...(body === undefined ? {} : { "content-type": "application/json; charset=utf-8" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(replayBody === undefined ? {} : { replayBody: JSON.stringify(replayBody) }),
  };
}

function send(reply: FastifyReply, { status, headers, body }: Outcome) {
  return reply.code(status).headers(headers).send(body);
}
