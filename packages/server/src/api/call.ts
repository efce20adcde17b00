import type { OperationId, Routes } from "@outrider/contract/routes";
import type { WorkerOperationId, WorkerRoutes } from "@outrider/contract/worker-route";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { QuotaSettings } from "../config/quotas.ts";
import type { RetentionSettings } from "../config/retention.ts";
import type { Blobs } from "../engine/blobs.ts";
import type { BrakeView } from "../engine/brake.ts";
import type { BudgetRules } from "../engine/budgets.ts";
import type { Claimants } from "../engine/claimants.ts";
import type { Deltas } from "../engine/deltas.ts";
import type { Intake } from "../engine/intake.ts";
import type { Models } from "../engine/models.ts";
import type { Principal } from "../engine/principal.ts";
import type { Pulse } from "../engine/pulse.ts";
import type { Rates } from "../engine/rates.ts";
import type { Room } from "../engine/room.ts";
import type { Rules } from "../engine/rules.ts";
import type { Tally } from "../engine/tally.ts";
import type { Vault } from "../engine/vault.ts";
import type { Wake } from "../engine/wake.ts";
import type { Watch } from "../engine/watch.ts";
import type { Db, Sql, Tx } from "../store/db.ts";
import type { RateLimits } from "./rate-limits.ts";
import type { Streams } from "./streams.ts";

/** What handlers work with, made once by the composition root. */
export interface Services {
  db: Db;
  /** One connection for all claims of this server: they go one after the other anyway, and must not use up the others. */
  claims: Db;
  claimants: Claimants;
  vault: Vault;
  models: Models;
  rules: Rules;
  watch: Watch;
  wake: Wake;
  deltas: Deltas;
  blobs: Blobs;
  intake: Intake;
  pulse: Pulse;
  rates: Rates;
  quotas: QuotaSettings & Pick<BudgetRules, "refused">;
  /** What is kept of runs that have ended. */
  retention: RetentionSettings;
  /** With less room than this on a disk, no new work is taken. */
  minFreeBytes: number;
  brake: BrakeView;
  tally: Tally;
  /** Where a repository is that is named by owner and name alone. */
  gitHost: string;
  /** The address that links in answers begin with. */
  origin(): string;
  streams: Streams;
  /** For lists of runs, which may take long and hold a connection meanwhile. */
  searches: Room;
  /** Ends when the server stops; streams end with it. */
  stopping: AbortSignal;
}

type Input<R, M extends string> =
  R extends Record<M, infer S> ? (S extends z.ZodType ? z.infer<S> : undefined) : undefined;

/** Everything that writes has a transaction, unless it waits in between. */
type Connection<R> = R extends { method: "GET" } | { waits: true } ? Sql : Tx;

/** One call, read and checked: what a handler is given. */
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
  /** Wakes who waits for the topic, once the transaction has committed. */
  say(topic: string): void;
  /** Calls back when the transaction is over, before anybody is woken. */
  afterwards(tell: (isCommitted: boolean) => void): void;
}

export interface Result {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** What a replay of the answer shows instead, where the first holds something that must not come out twice. */
  replayBody?: unknown;
}

/** The handler has taken over the connection and answered by itself. */
export const STREAMED = Symbol("streamed");

export type Handler<R> = (call: Call<R>) => Promise<Result | typeof STREAMED>;
export type Handlers = { [Id in OperationId]: Handler<Routes[Id]> };
export type WorkerHandlers = { [Id in WorkerOperationId]: Handler<WorkerRoutes[Id]> };

export const ok = (body: unknown): Result => ({ status: 200, body });
export const created = (body: unknown): Result => ({ status: 201, body });
export const gone: Result = { status: 204 };
