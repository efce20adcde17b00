import { z } from "zod";
import { ListEventsQuery } from "./query.ts";
import type { Route } from "./route.ts";
import { Uuid } from "./text.ts";
import {
  BuildFinishRequest,
  BuildReportRequest,
  ClaimRequest,
  ClaimResponse,
  CloseRequest,
  DeltaRequest,
  FinishRequest,
  FinishResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  HistoryResponse,
  PrepareRequest,
  PrepareResponse,
  ReleaseRequest,
  ReportRequest,
  ReportResponse,
  ReserveRequest,
  ReserveResponse,
  SettleRequest,
  Signals,
} from "./worker.ts";

/** Workers' own calls, with worker keys. They are no part of the public API and may change with the server. */
export interface WorkerRoute extends Omit<Route, "scope" | "tag" | "summary" | "errors"> {
  /** The handler makes its own transactions: it waits in between, or one statement is most often all. */
  waits?: true;
}

const route = <const R extends WorkerRoute>(definition: R) => definition;

const executionId = z.object({ executionId: Uuid });
const buildId = z.object({ buildId: Uuid });
const bytes = { 200: { description: "Its bytes.", media: ["application/octet-stream"] } };
const done = { 204: { description: "Done." } };

export const workerRoutes = {
  claim: route({
    method: "POST",
    path: "/worker/claim",
    body: ClaimRequest,
    waits: true,
    answers: { 200: { description: "What the worker is to do.", schema: ClaimResponse } },
  }),
  heartbeat: route({
    method: "POST",
    path: "/worker/heartbeat",
    body: HeartbeatRequest,
    answers: { 200: { description: "Which leases go on.", schema: HeartbeatResponse } },
  }),
  signals: route({
    method: "GET",
    path: "/worker/signals",
    query: z.strictObject({ worker_id: Uuid }),
    waits: true,
    answers: {
      200: { description: "What waits for the worker's executions.", schema: Signals, stream: true },
    },
  }),
  history: route({
    method: "GET",
    path: "/worker/executions/{executionId}/events",
    params: executionId,
    query: ListEventsQuery,
    answers: { 200: { description: "The run's log.", schema: HistoryResponse } },
  }),
  attachment: route({
    method: "GET",
    path: "/worker/executions/{executionId}/attachments/{attachmentId}",
    params: executionId.extend({ attachmentId: Uuid }),
    answers: bytes,
  }),
  artifact: route({
    method: "GET",
    path: "/worker/executions/{executionId}/artifacts/{artifactId}",
    params: executionId.extend({ artifactId: Uuid }),
    answers: bytes,
  }),
  prepare: route({
    method: "POST",
    path: "/worker/executions/{executionId}/prepare",
    params: executionId,
    body: PrepareRequest,
    answers: { 200: { description: "Where the environment is, or who makes it.", schema: PrepareResponse } },
  }),
  reportBuild: route({
    method: "POST",
    path: "/worker/builds/{buildId}/report",
    params: buildId,
    body: BuildReportRequest,
    answers: done,
  }),
  finishBuild: route({
    method: "POST",
    path: "/worker/builds/{buildId}/finish",
    params: buildId,
    body: BuildFinishRequest,
    answers: done,
  }),
  reserve: route({
    method: "POST",
    path: "/worker/executions/{executionId}/reserve",
    params: executionId,
    body: ReserveRequest,
    waits: true,
    answers: { 200: { description: "Whether the call may be made.", schema: ReserveResponse } },
  }),
  settle: route({
    method: "POST",
    path: "/worker/executions/{executionId}/settle",
    params: executionId,
    body: SettleRequest,
    waits: true,
    answers: done,
  }),
  report: route({
    method: "POST",
    path: "/worker/executions/{executionId}/report",
    params: executionId,
    body: ReportRequest,
    waits: true,
    answers: { 200: { description: "Written.", schema: ReportResponse } },
  }),
  delta: route({
    method: "POST",
    path: "/worker/executions/{executionId}/delta",
    params: executionId,
    body: DeltaRequest,
    waits: true,
    answers: done,
  }),
  finish: route({
    method: "POST",
    path: "/worker/executions/{executionId}/finish",
    params: executionId,
    body: FinishRequest,
    waits: true,
    answers: { 200: { description: "Whether the turn has ended.", schema: FinishResponse } },
  }),
  close: route({
    method: "POST",
    path: "/worker/executions/{executionId}/close",
    params: executionId,
    body: CloseRequest,
    answers: done,
  }),
  release: route({
    method: "POST",
    path: "/worker/executions/{executionId}/release",
    params: executionId,
    body: ReleaseRequest,
    answers: done,
  }),
};

export type WorkerRoutes = typeof workerRoutes;
export type WorkerOperationId = keyof WorkerRoutes;
export const workerOperations = Object.entries(workerRoutes) as [WorkerOperationId, WorkerRoute][];
