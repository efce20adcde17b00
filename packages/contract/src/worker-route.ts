import { z } from "zod";
import { ListEventsQuery } from "./query.ts";
import type { Route } from "./route.ts";
import { Uuid } from "./text.ts";
import { AssignedFileRequest } from "./worker/assigned-file-request.ts";
import {
  BuildChunksRequest,
  BuildChunksResponse,
  BuildFinishRequest,
  BuildReportRequest,
  PrepareRequest,
  PrepareResponse,
} from "./worker/build.ts";
import { AssignedProposal, ProposalFinishRequest, ProposalTakeRequest } from "./worker/proposal.ts";
import {
  AssignedPublication,
  ListRequestedRequest,
  ListRequestedResponse,
  PublicationFinishRequest,
  PublicationTakeRequest,
  PublishRequest,
  PublishResponse,
  RepositoryCredential,
  RepositoryCredentialRequest,
} from "./worker/publication.ts";
import { FileRequestFinishRequest, FileRequestTakeRequest } from "./worker/run-file.ts";
import {
  ShellFinishRequest,
  ShellInputRequest,
  ShellInputResponse,
  ShellReportRequest,
} from "./worker/shell.ts";
import {
  ClaimRequest,
  ClaimResponse,
  CloseRequest,
  DeltaRequest,
  FinishAllRequest,
  FinishAllResponse,
  FinishRequest,
  FinishResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  HistoryResponse,
  InstallationIdentity,
  InterruptRequest,
  ReleaseRequest,
  ReportRequest,
  ReportResponse,
  ReserveRequest,
  ReserveResponse,
  SettleRequest,
  Signals,
} from "./worker.ts";

/** An operation that requires a worker key. It is not part of the public API and can change in any version. */
export interface WorkerRoute extends Omit<Route, "scope" | "tag" | "summary" | "errors"> {
  /**
   * The handler opens its own transactions instead of running in one. Set for handlers that wait between statements or
   * usually need only a single statement.
   */
  ownTransactions?: true;
}

const route = <const R extends WorkerRoute>(definition: R) => definition;

const executionId = z.object({ executionId: Uuid });
const buildId = z.object({ buildId: Uuid });
const proposalId = z.object({ proposalId: Uuid });
const publicationId = z.object({ publicationId: Uuid });
const requestId = z.object({ requestId: Uuid });
const shellId = z.object({ shellId: Uuid });
const bytes = { 200: { description: "The content.", media: ["application/octet-stream"] } };
const done = { 204: { description: "Done." } };

export const workerRoutes = {
  claim: route({
    method: "POST",
    path: "/worker/claim",
    body: ClaimRequest,
    ownTransactions: true,
    responses: { 200: { description: "Work for the worker.", schema: ClaimResponse } },
  }),
  identifyInstallation: route({
    method: "GET",
    path: "/worker/installation",
    responses: { 200: { description: "The installation of the server.", schema: InstallationIdentity } },
  }),
  heartbeat: route({
    method: "POST",
    path: "/worker/heartbeat",
    body: HeartbeatRequest,
    ownTransactions: true,
    responses: { 200: { description: "The renewed leases.", schema: HeartbeatResponse } },
  }),
  signals: route({
    method: "GET",
    path: "/worker/signals",
    query: z.strictObject({ worker_id: Uuid }),
    ownTransactions: true,
    responses: {
      200: { description: "Signals for the executions of the worker.", schema: Signals, stream: true },
    },
  }),
  history: route({
    method: "GET",
    path: "/worker/executions/{executionId}/events",
    params: executionId,
    query: ListEventsQuery,
    responses: { 200: { description: "Events of the run.", schema: HistoryResponse } },
  }),
  attachment: route({
    method: "GET",
    path: "/worker/executions/{executionId}/attachments/{attachmentId}",
    params: executionId.extend({ attachmentId: Uuid }),
    responses: bytes,
  }),
  artifact: route({
    method: "GET",
    path: "/worker/executions/{executionId}/artifacts/{artifactId}",
    params: executionId.extend({ artifactId: Uuid }),
    responses: bytes,
  }),
  prepare: route({
    method: "POST",
    path: "/worker/executions/{executionId}/prepare",
    params: executionId,
    body: PrepareRequest,
    responses: { 200: { description: "State of the build for the environment.", schema: PrepareResponse } },
  }),
  reportBuild: route({
    method: "POST",
    path: "/worker/builds/{buildId}/report",
    params: buildId,
    body: BuildReportRequest,
    responses: done,
  }),
  recordChunks: route({
    method: "POST",
    path: "/worker/builds/{buildId}/chunks",
    params: buildId,
    body: BuildChunksRequest,
    responses: { 200: { description: "The chunks to upload.", schema: BuildChunksResponse } },
  }),
  finishBuild: route({
    method: "POST",
    path: "/worker/builds/{buildId}/finish",
    params: buildId,
    body: BuildFinishRequest,
    responses: done,
  }),
  takeProposal: route({
    method: "POST",
    path: "/worker/proposals/{proposalId}/take",
    params: proposalId,
    body: ProposalTakeRequest,
    responses: { 200: { description: "The repository to read.", schema: AssignedProposal } },
  }),
  finishProposal: route({
    method: "POST",
    path: "/worker/proposals/{proposalId}/finish",
    params: proposalId,
    body: ProposalFinishRequest,
    responses: done,
  }),
  publish: route({
    method: "POST",
    path: "/worker/executions/{executionId}/publications",
    params: executionId,
    body: PublishRequest,
    responses: { 200: { description: "What becomes of the staged commits.", schema: PublishResponse } },
  }),
  listRequested: route({
    method: "POST",
    path: "/worker/executions/{executionId}/publications/list",
    params: executionId,
    body: ListRequestedRequest,
    responses: { 200: { description: "The publications.", schema: ListRequestedResponse } },
  }),
  takePublication: route({
    method: "POST",
    path: "/worker/publications/{publicationId}/take",
    params: publicationId,
    body: PublicationTakeRequest,
    ownTransactions: true,
    responses: { 200: { description: "The commits to push.", schema: AssignedPublication } },
  }),
  finishPublication: route({
    method: "POST",
    path: "/worker/publications/{publicationId}/finish",
    params: publicationId,
    body: PublicationFinishRequest,
    responses: done,
  }),
  takeFileRequest: route({
    method: "POST",
    path: "/worker/file-requests/{requestId}/take",
    params: requestId,
    body: FileRequestTakeRequest,
    responses: { 200: { description: "The folder or file to read.", schema: AssignedFileRequest } },
  }),
  finishFileRequest: route({
    method: "POST",
    path: "/worker/file-requests/{requestId}/finish",
    params: requestId,
    body: FileRequestFinishRequest,
    responses: done,
  }),
  repositoryCredential: route({
    method: "POST",
    path: "/worker/repository-credentials",
    body: RepositoryCredentialRequest,
    ownTransactions: true,
    responses: { 200: { description: "A credential for fetching.", schema: RepositoryCredential } },
  }),
  reportShell: route({
    method: "POST",
    path: "/worker/shells/{shellId}/report",
    params: shellId,
    body: ShellReportRequest,
    responses: done,
  }),
  shellInput: route({
    method: "POST",
    path: "/worker/shells/{shellId}/input",
    params: shellId,
    body: ShellInputRequest,
    ownTransactions: true,
    responses: { 200: { description: "The input.", schema: ShellInputResponse } },
  }),
  finishShell: route({
    method: "POST",
    path: "/worker/shells/{shellId}/finish",
    params: shellId,
    body: ShellFinishRequest,
    responses: done,
  }),
  reserve: route({
    method: "POST",
    path: "/worker/executions/{executionId}/reserve",
    params: executionId,
    body: ReserveRequest,
    ownTransactions: true,
    responses: { 200: { description: "Whether the model call is allowed.", schema: ReserveResponse } },
  }),
  settle: route({
    method: "POST",
    path: "/worker/executions/{executionId}/settle",
    params: executionId,
    body: SettleRequest,
    ownTransactions: true,
    responses: done,
  }),
  report: route({
    method: "POST",
    path: "/worker/executions/{executionId}/report",
    params: executionId,
    body: ReportRequest,
    ownTransactions: true,
    responses: { 200: { description: "The events are stored.", schema: ReportResponse } },
  }),
  delta: route({
    method: "POST",
    path: "/worker/executions/{executionId}/delta",
    params: executionId,
    body: DeltaRequest,
    ownTransactions: true,
    responses: done,
  }),
  finish: route({
    method: "POST",
    path: "/worker/executions/{executionId}/finish",
    params: executionId,
    body: FinishRequest,
    ownTransactions: true,
    responses: { 200: { description: "Whether the turn has ended.", schema: FinishResponse } },
  }),
  finishAll: route({
    method: "POST",
    path: "/worker/finish",
    body: FinishAllRequest,
    ownTransactions: true,
    responses: { 200: { description: "The turns that have ended or continue.", schema: FinishAllResponse } },
  }),
  close: route({
    method: "POST",
    path: "/worker/executions/{executionId}/close",
    params: executionId,
    body: CloseRequest,
    responses: done,
  }),
  release: route({
    method: "POST",
    path: "/worker/executions/{executionId}/release",
    params: executionId,
    body: ReleaseRequest,
    responses: done,
  }),
  interrupt: route({
    method: "POST",
    path: "/worker/executions/{executionId}/interrupt",
    params: executionId,
    body: InterruptRequest,
    responses: done,
  }),
};

export type WorkerRoutes = typeof workerRoutes;
export type WorkerOperationId = keyof WorkerRoutes;
export const workerOperations = Object.entries(workerRoutes) as [WorkerOperationId, WorkerRoute][];
