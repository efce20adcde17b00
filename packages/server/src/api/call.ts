import type { OperationId, Routes } from "@outrider/contract/route";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { Principal } from "../engine/principal.ts";
import type { Vault } from "../engine/vault.ts";
import type { Watch } from "../engine/watch.ts";
import type { Db, Sql, Tx } from "../store/db.ts";

/** What handlers work with, made once by the composition root. */
export interface Services {
  db: Db;
  vault: Vault;
  watch: Watch;
  /** Ends when the server stops; streams end with it. */
  stopping: AbortSignal;
}

type Input<R, M extends string> =
  R extends Record<M, infer S> ? (S extends z.ZodType ? z.infer<S> : undefined) : undefined;
type Method<R> = R extends { method: infer M } ? M : never;

/** One call, read and checked: what a handler is given. Everything that writes has a transaction. */
export interface Call<R> {
  services: Services;
  principal: Principal;
  params: Input<R, "params">;
  query: Input<R, "query">;
  body: Input<R, "body">;
  sql: Method<R> extends "GET" ? Sql : Tx;
  traceId: string;
  request: FastifyRequest;
  reply: FastifyReply;
  /** Tells watchers about the run, once the transaction has committed. */
  changed(runId: string): void;
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

export const ok = (body: unknown): Result => ({ status: 200, body });
export const created = (body: unknown): Result => ({ status: 201, body });
export const gone: Result = { status: 204 };
