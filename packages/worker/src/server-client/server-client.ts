import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { readEvents } from "@outrider/agent/event-stream";
import type {
  ClaimRequest,
  ClaimResponse,
  CloseRequest,
  DeltaRequest,
  FinishRequest,
  FinishResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  HistoryResponse,
  InstallationIdentity,
  InterruptRequest,
  ReportRequest,
  ReportResponse,
  ReserveRequest,
  ReserveResponse,
  SettleRequest,
  Signals,
  Snapshot,
} from "@outrider/contract/worker";
import type { AssignedFileRequest } from "@outrider/contract/worker/assigned-file-request";
import type {
  BuildChunksRequest,
  BuildChunksResponse,
  BuildFinishRequest,
  BuildReportRequest,
  PrepareRequest,
  PrepareResponse,
} from "@outrider/contract/worker/build";
import type { AssignedProposal, ProposalFinishRequest } from "@outrider/contract/worker/proposal";
import type {
  AssignedPublication,
  ListRequestedResponse,
  PublicationFinishRequest,
  PublishRequest,
  PublishResponse,
  RepositoryCredential,
  RepositoryCredentialRequest,
} from "@outrider/contract/worker/publication";
import type { FileRequestFinishRequest, FileRequestTakeRequest } from "@outrider/contract/worker/run-file";
import type {
  ShellFinishRequest,
  ShellInputRequest,
  ShellInputResponse,
  ShellReportRequest,
} from "@outrider/contract/worker/shell";
import { traceHeaders } from "@outrider/telemetry/spans";
import { explainUntrusted, trustOptions } from "./certificate-trust.ts";
import { DirectBlobs } from "./direct-blobs.ts";
import { FinishGroups } from "./finish-groups.ts";
import { createHttpClient, type HttpRequest, type HttpResponse, HttpStatusError } from "./http.ts";

const REQUEST_MS = 15_000;
/** The server may have to ask a forge for a credential. */
const FORGE_MS = 60_000;
/** Enough for the signals of all executions that a worker can have. */
const MAX_SIGNALS_CHARACTERS = 16 * 2 ** 20;
const BACKOFF_MS = { min: 50, max: 3_000 };
/** With the backoff, these take about six seconds. */
const MAX_INTERNAL_ERRORS = 8;

/**
 * Thrown when the run has ended or now belongs to another worker. The caller must stop at once and report nothing more.
 */
export class LeaseLostError extends Error {
  override name = "LeaseLostError";
}

/**
 * The worker's calls to the server. Each call is retried with backoff until the server answers or the signal aborts.
 * Retries are safe because all calls are idempotent, as the contract defines.
 *
 * - A 409, or a 404 for anything but a file, means that the lease is lost and rejects with a LeaseLostError.
 * - 429 and 5xx are retried. The exception is a 500 for one execution or build: its cause may be the request itself, which
 *   would then never succeed while heartbeats keep the lease. It is retried a few times and then rejects.
 * - Any other error status rejects with an HttpStatusError.
 */
export interface ServerClient {
  claim(body: ClaimRequest, signal: AbortSignal): Promise<ClaimResponse>;
  /** Returns the id of the server's installation, or undefined if the server is of an older version. */
  installationId(signal: AbortSignal): Promise<string | undefined>;
  heartbeat(body: HeartbeatRequest, signal: AbortSignal): Promise<HeartbeatResponse>;
  history(executionId: string, after: number, signal: AbortSignal): Promise<HistoryResponse>;
  prepare(executionId: string, body: PrepareRequest, signal: AbortSignal): Promise<PrepareResponse>;
  reportBuild(buildId: string, body: BuildReportRequest, signal: AbortSignal): Promise<void>;
  finishBuild(buildId: string, body: BuildFinishRequest, signal: AbortSignal): Promise<void>;
  takeProposal(proposalId: string, workerId: string, signal: AbortSignal): Promise<AssignedProposal>;
  finishProposal(proposalId: string, body: ProposalFinishRequest, signal: AbortSignal): Promise<void>;
  takeFileRequest(
    requestId: string,
    body: FileRequestTakeRequest,
    signal: AbortSignal,
  ): Promise<AssignedFileRequest>;
  finishFileRequest(requestId: string, body: FileRequestFinishRequest, signal: AbortSignal): Promise<void>;
  /** Reports staged commits, and asks for their publication. */
  publish(executionId: string, body: PublishRequest, signal: AbortSignal): Promise<PublishResponse>;
  listRequested(
    executionId: string,
    body: { run_id: string; publication_ids: string[] },
    signal: AbortSignal,
  ): Promise<ListRequestedResponse>;
  takePublication(publicationId: string, workerId: string, signal: AbortSignal): Promise<AssignedPublication>;
  finishPublication(
    publicationId: string,
    body: PublicationFinishRequest,
    signal: AbortSignal,
  ): Promise<void>;
  /** Gets the credential of a connected forge. Rejects with an HttpStatusError if the forge does not give one. */
  repositoryCredential(body: RepositoryCredentialRequest, signal: AbortSignal): Promise<RepositoryCredential>;
  reportShell(shellId: string, body: ShellReportRequest, signal: AbortSignal): Promise<void>;
  shellInput(shellId: string, body: ShellInputRequest, signal: AbortSignal): Promise<ShellInputResponse>;
  finishShell(shellId: string, body: ShellFinishRequest, signal: AbortSignal): Promise<void>;
  reserve(executionId: string, body: ReserveRequest, signal: AbortSignal): Promise<ReserveResponse>;
  settle(executionId: string, body: SettleRequest, signal: AbortSignal): Promise<void>;
  report(executionId: string, body: ReportRequest, signal: AbortSignal): Promise<ReportResponse>;
  delta(executionId: string, body: DeltaRequest, signal: AbortSignal): Promise<void>;
  finish(executionId: string, body: FinishRequest, signal: AbortSignal): Promise<FinishResponse>;
  close(executionId: string, body: CloseRequest, signal: AbortSignal): Promise<void>;
  release(
    executionId: string,
    body: { run_id: string; snapshot?: Snapshot },
    signal: AbortSignal,
  ): Promise<void>;
  interrupt(executionId: string, body: InterruptRequest, signal: AbortSignal): Promise<void>;
  /** Reads one of the run's attachments or artifacts. Rejects if it does not exist. */
  file(executionId: string, path: string, signal: AbortSignal): Promise<Buffer>;
  /** Records chunks of a build, and returns those that must be uploaded. */
  recordChunks(buildId: string, body: BuildChunksRequest, signal: AbortSignal): Promise<BuildChunksResponse>;
  /** Uploads a file, given by its path, or bytes. */
  putBlob(content: string | Buffer, sha256: string, signal: AbortSignal): Promise<void>;
  getBlob(sha256: string, signal: AbortSignal): Promise<Readable>;
  /** Listens to the worker's signal stream and reconnects until `signal` aborts. */
  signals(workerId: string, onSignals: (signals: Signals) => void, signal: AbortSignal): Promise<void>;
  stop(): void;
}

export interface ConnectOptions {
  url: string;
  key: string;
  /** A PEM file with a certificate to trust in addition to the default authorities. */
  ca?: string;
  /** Called once for each reason why the server's certificate is not trusted. Calls are still retried. */
  onUntrusted?: (reason: string) => void;
  /** Called before each retry. */
  onRetry?: () => void;
}

export function connectToServer({
  url,
  key,
  ca,
  onUntrusted,
  onRetry = () => {},
}: ConnectOptions): ServerClient {
  const origin = url.replace(/\/(api\/v1\/?)?$/, "");
  const trust = trustOptions(ca);
  const http = createHttpClient({ origin, key, ...trust });
  const direct = new DirectBlobs(http, trust);
  const reportedReasons = new Set<string>();
  /** Whether the last response to a claim offered it. Older servers reject deltas with a number. */
  let acceptsDeltaIndex = false;
  /** The same for groups of finishes. */
  let acceptsFinishGroups = false;

  function reportUntrusted(error: unknown): undefined {
    const reason = explainUntrusted(error);
    if (reason === undefined || reportedReasons.has(reason)) return;
    reportedReasons.add(reason);
    onUntrusted?.(reason);
  }

  /** Sends a request repeatedly until the server returns a final response. */
  async function send(
    request: Omit<HttpRequest, "timeoutMs"> & { timeoutMs?: number; openContent?: () => Readable | Buffer },
  ): Promise<HttpResponse> {
    const { signal, timeoutMs = REQUEST_MS, openContent, ...rest } = request;
    let internalErrors = 0;
    const response = await retry({ signal, onRetry }, async () => {
      const content = openContent?.();
      const attempt = await http
        .send({ ...rest, signal, timeoutMs, ...(content ? { content } : {}) })
        .catch(reportUntrusted);
      if (
        attempt?.status === 500 &&
        /^\/(executions|builds|proposals|publications|shells)\//.test(rest.path)
      ) {
        internalErrors += 1;
        return internalErrors < MAX_INTERNAL_ERRORS ? undefined : attempt;
      }
      return attempt && isRetryable(attempt.status) ? undefined : attempt;
    });
    return requireSuccess(response, rest.path);
  }

  function requireSuccess(response: HttpResponse, path: string): HttpResponse {
    if (response.status < 300) return response;
    const detail = detailOf(response);
    // A missing file or credential does not mean that the lease is lost.
    const isRunMissing = response.status === 404 && !/\/(artifacts|attachments)\//.test(path);
    const isLeaseLost = (response.status === 409 || isRunMissing) && path !== "/repository-credentials";
    if (isLeaseLost) throw new LeaseLostError(detail);
    throw new HttpStatusError(response.status, detail);
  }

  const post = async <T>(path: string, body: object, signal: AbortSignal, timeoutMs?: number): Promise<T> => {
    const response = await send({ method: "POST", path, body, signal, ...(timeoutMs ? { timeoutMs } : {}) });
    return (response.body.length > 0 ? JSON.parse(response.body.toString()) : undefined) as T;
  };

  const stopping = new AbortController();
  const finishGroups = new FinishGroups(async (json) => {
    const { signal } = stopping;
    const request = { method: "POST", path: "/finish", json, signal, timeoutMs: REQUEST_MS } as const;
    return JSON.parse(requireSuccess(await http.send(request), "/finish").body.toString());
  });

  return {
    async claim(body, signal) {
      const response = await post<ClaimResponse>("/claim", body, signal, body.wait_ms + REQUEST_MS);
      acceptsDeltaIndex = response.offers_delta_index ?? false;
      acceptsFinishGroups = response.offers_finish_all ?? false;
      return response;
    },
    async installationId(signal) {
      try {
        const { body } = await send({ method: "GET", path: "/installation", signal });
        return (JSON.parse(body.toString()) as InstallationIdentity).installation_id;
      } catch (error) {
        if (error instanceof LeaseLostError) return undefined;
        throw error;
      }
    },
    heartbeat: (body, signal) => post("/heartbeat", body, signal),
    async history(executionId, after, signal) {
      const path = `/executions/${executionId}/events?after=${after}`;
      return JSON.parse((await send({ method: "GET", path, signal })).body.toString());
    },
    prepare: (executionId, body, signal) => post(`/executions/${executionId}/prepare`, body, signal),
    reportBuild: (buildId, body, signal) => post(`/builds/${buildId}/report`, body, signal),
    finishBuild: (buildId, body, signal) => post(`/builds/${buildId}/finish`, body, signal),
    takeProposal: (proposalId, worker_id, signal) =>
      post(`/proposals/${proposalId}/take`, { worker_id }, signal),
    finishProposal: (proposalId, body, signal) => post(`/proposals/${proposalId}/finish`, body, signal),
    takeFileRequest: (requestId, body, signal) => post(`/file-requests/${requestId}/take`, body, signal),
    finishFileRequest: (requestId, body, signal) => post(`/file-requests/${requestId}/finish`, body, signal),
    publish: (executionId, body, signal) => post(`/executions/${executionId}/publications`, body, signal),
    listRequested: (executionId, body, signal) =>
      post(`/executions/${executionId}/publications/list`, body, signal),
    takePublication: (publicationId, worker_id, signal) =>
      post(`/publications/${publicationId}/take`, { worker_id }, signal, FORGE_MS),
    finishPublication: (publicationId, body, signal) =>
      post(`/publications/${publicationId}/finish`, body, signal),
    repositoryCredential: (body, signal) => post("/repository-credentials", body, signal, FORGE_MS),
    reportShell: (shellId, body, signal) => post(`/shells/${shellId}/report`, body, signal),
    shellInput: (shellId, body, signal) =>
      post(`/shells/${shellId}/input`, body, signal, body.wait_ms + REQUEST_MS),
    finishShell: (shellId, body, signal) => post(`/shells/${shellId}/finish`, body, signal),
    reserve: (executionId, body, signal) => post(`/executions/${executionId}/reserve`, body, signal),
    settle: (executionId, body, signal) => post(`/executions/${executionId}/settle`, body, signal),
    report: (executionId, body, signal) => post(`/executions/${executionId}/report`, body, signal),
    delta: (executionId, { index, ...body }, signal) =>
      post(`/executions/${executionId}/delta`, acceptsDeltaIndex ? { ...body, index } : body, signal),
    async finish(executionId, body, signal) {
      // A request belongs to one trace at most.
      const canBeGrouped = acceptsFinishGroups && traceHeaders().traceparent === undefined;
      const response = canBeGrouped ? await finishGroups.finish(executionId, body, signal) : undefined;
      return response ?? post(`/executions/${executionId}/finish`, body, signal);
    },
    close: (executionId, body, signal) => post(`/executions/${executionId}/close`, body, signal),
    release: (executionId, body, signal) => post(`/executions/${executionId}/release`, body, signal),
    interrupt: (executionId, body, signal) => post(`/executions/${executionId}/interrupt`, body, signal),
    async file(executionId, path, signal) {
      const filePath = `/executions/${executionId}/${path}`;
      return (await send({ method: "GET", path: filePath, signal, timeoutMs: 60_000 })).body;
    },
    recordChunks: (buildId, body, signal) => post(`/builds/${buildId}/chunks`, body, signal),
    async putBlob(content, sha256, signal) {
      const size = typeof content === "string" ? (await stat(content)).size : content.length;
      if (await direct.put(content, { sha256, size, signal })) return;
      await send({
        method: "PUT",
        path: `/blobs/${sha256}`,
        signal,
        timeoutMs: 600_000,
        contentLength: size,
        openContent: () => (typeof content === "string" ? createReadStream(content) : content),
      });
    },
    // Retries until the stream starts. The reader must handle a stream that fails later.
    getBlob: (sha256, signal) =>
      retry({ signal, onRetry }, () =>
        http
          .open({
            method: "GET",
            path: `/blobs/${sha256}${direct.isPaused ? "" : "?direct=true"}`,
            signal,
            timeoutMs: 60_000,
            accept: "application/octet-stream",
            onRedirect: (url) =>
              direct.open(url, signal).catch((error) => {
                direct.pause();
                throw error;
              }),
          })
          .catch((error) => {
            if (error instanceof HttpStatusError && !isRetryable(error.status)) throw error;
            return undefined;
          }),
      ),
    async signals(workerId, onSignals, signal) {
      for (let waitMs = BACKOFF_MS.min; !signal.aborted; ) {
        try {
          const path = `/signals?worker_id=${workerId}`;
          const stream = await http.open({
            method: "GET",
            path,
            signal,
            timeoutMs: 60_000,
            accept: "text/event-stream",
          });
          waitMs = BACKOFF_MS.min;
          const events = readEvents(stream, { maxCharacters: MAX_SIGNALS_CHARACTERS });
          for await (const { data } of events) onSignals(JSON.parse(data));
        } catch {
          // Heartbeats deliver the same information later. Reconnect after a pause.
        }
        await pause(waitMs, undefined, { signal }).catch(() => {});
        waitMs = Math.min(waitMs * 2, BACKOFF_MS.max);
      }
    },
    stop() {
      stopping.abort();
      direct.close();
      http.close();
    },
  };
}

/** Calls `attempt` with exponential backoff until it returns a value. */
async function retry<T>(
  { signal, onRetry }: { signal: AbortSignal; onRetry: () => void },
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  for (let waitMs = BACKOFF_MS.min; ; waitMs = Math.min(waitMs * 2, BACKOFF_MS.max)) {
    signal.throwIfAborted();
    const result = await attempt();
    if (result !== undefined) return result;
    signal.throwIfAborted();
    onRetry();
    await pause(waitMs * (0.5 + Math.random()), undefined, { signal });
  }
}

function isRetryable(status: number): boolean {
  return status >= 500 || status === 429;
}

/** Returns what the server says about an error. An internal error is described in the server's log only. */
function detailOf({ status, body }: HttpResponse): string {
  try {
    const { detail, trace_id } = JSON.parse(body.toString());
    return status === 500 && trace_id
      ? `${detail} Search the server log for the trace_id ${trace_id}.`
      : detail;
  } catch {
    return "no detail";
  }
}
