import { captureScope } from "@outrider/telemetry/spans";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../../engine/auth/principal.ts";
import type { Tx } from "../../store/connection/db.ts";
import type { WaitingRun } from "../../store/dispatch/requirements.ts";
import { readJson } from "../http/json-body.ts";
import { callerLimits, workerLimits } from "../http/json-checks.ts";
import { parseBody, parseParams, parseQuery, pathOf, readBody } from "../http/request.ts";
import { asksForStream } from "../streams/sse.ts";
import { type AnyCall, type Result, type Services, STREAMED } from "./call.ts";
import type { ErrorResponses } from "./error-responses.ts";
import { readIdempotencyKey, withIdempotency } from "./idempotency.ts";
import type { Operation } from "./operations.ts";
import type { RateLimits } from "./rate-limits.ts";
import { type HttpResponse, toResponse } from "./response.ts";

/**
 * Executes one operation, from its request to its response.
 *
 * - Reads, and operations that wait (`ownTransactions`), use a connection from the pool. They fail fast while the
 *   database is not responding, unless they stream.
 * - Writes run in a transaction. With an `Idempotency-Key`, the response is stored in the same transaction.
 * - Notifications are published only after the commit, so that listeners can see the new data.
 */

interface Context {
  services: Services;
  rateLimits: RateLimits;
  errorResponses: Pick<ErrorResponses, "responseTo">;
}

/** The handlers of these operations open their own transactions, unless the request has an idempotency key. */
const withOwnTransactions = new Set([
  "createRun",
  "createRunAlias",
  // These call a forge, which must not keep a transaction open.
  "createForge",
  "testForge",
  "completeAppManifest",
  // Resolves a name, or calls a model.
  "putModelProvider",
  "testModelProvider",
]);

/** Executes the operation. Returns undefined if the handler has already sent the response. */
export async function execute(
  operation: Operation,
  { services, rateLimits, errorResponses }: Context,
  { principal, request, reply }: { principal: Principal; request: FastifyRequest; reply: FastifyReply },
): Promise<HttpResponse | undefined> {
  const { id, route, handler } = operation;
  const rawBody = readBody(request);
  const jsonLimits = route.scope === "worker" ? workerLimits : callerLimits;
  const json = rawBody.length > 0 ? readJson(rawBody, jsonLimits) : undefined;
  const topics = new Set<string>();
  const waitingRuns: WaitingRun[] = [];
  const settledCallbacks: ((isCommitted: boolean) => void)[] = [];
  // The callback of a transaction may run in the scope of another request.
  const inScope = captureScope();

  const callHandler = async (sql: Services["db"] | Tx): Promise<Result | typeof STREAMED> => {
    const call: AnyCall = {
      services,
      principal,
      params: parseParams(route, request),
      query: parseQuery(route, request),
      body: parseBody(route, json, rawBody.length),
      sql: sql,
      traceId: request.id,
      request,
      reply,
      rateLimits,
      publish: (topic) => topics.add(topic),
      wake: (run) => void (run && waitingRuns.push(run)),
      onSettled: (callback) => settledCallbacks.push(callback),
    };
    return inScope(() => handler(call));
  };

  async function read(): Promise<HttpResponse | undefined> {
    const work = () => callHandler(services.db);
    // Streams have no time limit, and a response that has started must be completed.
    const isExempt = () => asksForStream(request) || reply.sent || reply.raw.headersSent;
    const result =
      route.scope === "worker" ? await work() : await services.databaseHealth.failFast(work, isExempt);
    return result === STREAMED ? undefined : toResponse(result);
  }

  async function write(): Promise<HttpResponse> {
    const work = async (tx: Tx) => toResponse((await callHandler(tx)) as Result);
    const key = route.method === "POST" ? readIdempotencyKey(request.headers["idempotency-key"]) : undefined;
    if (key !== undefined) {
      const scope = { owner_uid: principal.creator.uid, method: route.method, path: pathOf(request), key };
      const responseTo = (error: unknown) => errorResponses.responseTo(error, request);
      return withIdempotency(services.db, { scope, body: json, work, responseTo });
    }
    if (withOwnTransactions.has(id)) return toResponse((await callHandler(services.db)) as Result);
    return services.db.begin(work);
  }

  const isRead = route.method === "GET" || route.ownTransactions;
  const response = await (isRead ? read() : write()).catch((error) => {
    for (const callback of settledCallbacks) callback(false);
    throw error;
  });
  for (const callback of settledCallbacks) callback(true);
  for (const topic of topics) services.pubsub.publish(topic);
  for (const run of waitingRuns) services.wakeUps.wake(run);
  return response;
}
