import type { OperationId, Routes } from "@outrider/contract/routes";
import type { WorkerOperationId, WorkerRoutes } from "@outrider/contract/worker-route";
import type { Telemetry } from "@outrider/telemetry/telemetry";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { z } from "zod";
import type { QuotaSettings } from "../../config/quotas.ts";
import type { RetentionSettings } from "../../config/retention.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import type { Vault } from "../../engine/auth/vault.ts";
import type { Blobs } from "../../engine/blobs.ts";
import type { Admission } from "../../engine/dispatch/admission.ts";
import type { Claimer } from "../../engine/dispatch/claimer.ts";
import type { DemandReader } from "../../engine/dispatch/demand.ts";
import type { Heartbeats } from "../../engine/dispatch/heartbeats.ts";
import type { SignalReader } from "../../engine/dispatch/signals.ts";
import type { WaitingClaims } from "../../engine/dispatch/waiting-claims.ts";
import type { WakeUps } from "../../engine/dispatch/wake-ups.ts";
import type { WorkerAccess } from "../../engine/dispatch/worker-access.ts";
import type { Forges } from "../../engine/forges/forges.ts";
import type { Harnesses } from "../../engine/harnesses/harnesses.ts";
import type { BudgetLimits } from "../../engine/limits/budgets.ts";
import type { ConcurrencyLimiter } from "../../engine/limits/concurrency-limiter.ts";
import type { Rates } from "../../engine/limits/rates.ts";
import type { Deltas } from "../../engine/live/deltas.ts";
import type { PubSub } from "../../engine/live/pubsub.ts";
import type { RunWatcher } from "../../engine/live/run-watcher.ts";
import type { LiveModels } from "../../engine/models/live-models.ts";
import type { ModelProviders } from "../../engine/models/model-providers.ts";
import type { Counters } from "../../engine/operations/counters.ts";
import type { DatabaseHealth } from "../../engine/operations/database-health.ts";
import type { MaintenanceView } from "../../engine/operations/maintenance.ts";
import type { RunPolicy } from "../../engine/runs/run-policy.ts";
import type { Db, Sql, Tx } from "../../store/connection/db.ts";
import type { WaitingRun } from "../../store/dispatch/requirements.ts";
import type { Streams } from "../streams/streams.ts";
import type { RateLimits } from "./rate-limits.ts";

/** The dependencies of all handlers. main.ts creates them once. */
export interface Services {
  db: Db;
  claimer: Claimer;
  waitingClaims: WaitingClaims;
  wakeUps: WakeUps;
  workerAccess: WorkerAccess;
  heartbeats: Heartbeats;
  demand: DemandReader;
  signalReader: SignalReader;
  vault: Vault;
  models: LiveModels;
  modelProviders: ModelProviders;
  harnesses: Harnesses;
  forges: Forges;
  policy: RunPolicy;
  runWatcher: RunWatcher;
  pubsub: PubSub;
  deltas: Deltas;
  blobs: Blobs;
  admission: Admission;
  databaseHealth: DatabaseHealth;
  rates: Rates;
  quotas: QuotaSettings & Pick<BudgetLimits, "onRejected">;
  /** How long the data of finished runs is retained. */
  retention: RetentionSettings;
  /** With less free disk space than this, the server accepts no new work. */
  minFreeBytes: number;
  maintenance: MaintenanceView;
  counters: Counters;
  /** The Git host for repositories that are specified as `owner/name`. */
  gitHost: string;
  /** Returns the URL prefix for links in responses. */
  origin(): string;
  streams: Streams;
  /** Limits concurrent list requests, because each can occupy a database connection for a long time. */
  listLimiter: ConcurrencyLimiter;
  /** Aborts when the server stops, which ends all streams. */
  stopping: AbortSignal;
  /** Absent if it is not configured. */
  telemetry?: Telemetry | undefined;
  log: Logger;
}

type Input<R, M extends string> =
  R extends Record<M, infer S> ? (S extends z.ZodType ? z.infer<S> : undefined) : undefined;

/** Every write runs in a transaction, unless the operation manages its own. */
type Connection<R> = R extends { method: "GET" } | { ownTransactions: true } ? Sql : Tx;

/** A validated request, as handlers receive it. */
export interface Call<R> {
  services: Services;
  principal: Principal;
  params: Input<R, "params">;
  query: Input<R, "query">;
  body: Input<R, "body">;
  sql: Connection<R>;
  traceId: string;
  request: FastifyRequest;
  reply: FastifyReply;
  rateLimits: RateLimits;
  /** Publishes a notification for the topic once the transaction has committed. */
  publish(topic: string): void;
  /** Wakes a worker for the run once the transaction has committed. */
  wake(run: WaitingRun | undefined): void;
  /** Registers a callback that runs after the commit or rollback, before notifications are published. */
  onSettled(callback: (isCommitted: boolean) => void): void;
}

export interface Result {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** The body for idempotent replays. Set it if `body` contains something that must be shown only once. */
  replayBody?: unknown;
}

/** Returned by a handler that has already sent the response itself. */
export const STREAMED = Symbol("streamed");

export type Handler<R> = (call: Call<R>) => Promise<Result | typeof STREAMED>;

/** A call to any operation. The route's schemas guarantee the types that its handler declares. */
export interface AnyCall extends Omit<Call<unknown>, "params" | "query" | "body" | "sql"> {
  params: unknown;
  query: unknown;
  body: unknown;
  sql: Sql;
}

export type AnyHandler = (call: AnyCall) => Promise<Result | typeof STREAMED>;
export type Handlers = { [Id in OperationId]: Handler<Routes[Id]> };
export type WorkerHandlers = { [Id in WorkerOperationId]: Handler<WorkerRoutes[Id]> };

export const ok = (body: unknown): Result => ({ status: 200, body });
export const created = (body: unknown): Result => ({ status: 201, body });
export const noContent: Result = { status: 204 };
