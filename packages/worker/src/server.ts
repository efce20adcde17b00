import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type {
  BuildFinishRequest,
  BuildReportRequest,
  ClaimRequest,
  ClaimResponse,
  CloseRequest,
  FinishRequest,
  FinishResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  HistoryResponse,
  PrepareRequest,
  PrepareResponse,
  ReportRequest,
  ReportResponse,
  ReserveRequest,
  ReserveResponse,
  SettleRequest,
  Signals,
  Snapshot,
} from "@outrider/contract/worker";
import { type Answer, createHttpClient, HttpStatusError, type Outgoing } from "./http.ts";
import { authoritiesWith, distrustOf } from "./trust.ts";

const CALL_MS = 15_000;
const BACK_OFF_MS = { first: 50, last: 3_000 };

/** Somebody else has the run now, or it has ended: stop at once, and say nothing more of it. */
export class LeaseLostError extends Error {
  override name = "LeaseLostError";
}

/** The calls of a worker, each repeated until it is answered. All of them may be repeated: see the contract. */
export interface Server {
  claim(body: ClaimRequest, signal: AbortSignal): Promise<ClaimResponse>;
  heartbeat(body: HeartbeatRequest, signal: AbortSignal): Promise<HeartbeatResponse>;
  history(executionId: string, after: number, signal: AbortSignal): Promise<HistoryResponse>;
  prepare(executionId: string, body: PrepareRequest, signal: AbortSignal): Promise<PrepareResponse>;
  reportBuild(buildId: string, body: BuildReportRequest, signal: AbortSignal): Promise<void>;
  finishBuild(buildId: string, body: BuildFinishRequest, signal: AbortSignal): Promise<void>;
  reserve(executionId: string, body: ReserveRequest, signal: AbortSignal): Promise<ReserveResponse>;
  settle(executionId: string, body: SettleRequest, signal: AbortSignal): Promise<void>;
  report(executionId: string, body: ReportRequest, signal: AbortSignal): Promise<ReportResponse>;
  delta(executionId: string, body: { run_id: string; text: string }, signal: AbortSignal): Promise<void>;
  finish(executionId: string, body: FinishRequest, signal: AbortSignal): Promise<FinishResponse>;
  close(executionId: string, body: CloseRequest, signal: AbortSignal): Promise<void>;
  release(
    executionId: string,
    body: { run_id: string; snapshot?: Snapshot },
    signal: AbortSignal,
  ): Promise<void>;
  /** An attachment or artifact of the run. Rejects where it has none of the name. */
  file(executionId: string, path: string, signal: AbortSignal): Promise<Buffer>;
  putBlob(file: string, sha256: string, signal: AbortSignal): Promise<void>;
  getBlob(sha256: string, signal: AbortSignal): Promise<Readable>;
  /** One stream for the worker, which comes back by itself. */
  signals(workerId: string, heard: (signals: Signals) => void, signal: AbortSignal): Promise<void>;
  stop(): void;
}

export interface ConnectOptions {
  url: string;
  key: string;
  /** A file with a certificate to believe, besides the usual authorities. */
  ca?: string;
  /** Hears why the server's certificate is not taken, once for each reason: it may be mended while we go on trying. */
  distrusted?: (reason: string) => void;
  /** Hears of each call that has to be repeated. */
  retried?: () => void;
}

export function connect({ url, key, ca, distrusted, retried = () => {} }: ConnectOptions): Server {
  const origin = url.replace(/\/(api\/v1\/?)?$/, "");
  const http = createHttpClient({ origin, key, ...authoritiesWith(ca) });
  const told = new Set<string>();

  function failed(error: unknown): undefined {
    const reason = distrustOf(error);
    if (reason === undefined || told.has(reason)) return;
    told.add(reason);
    distrusted?.(reason);
  }

  /** Answers that can be had later are waited for; the others are the server's word. */
  async function ask(
    outgoing: Omit<Outgoing, "timeoutMs"> & { timeoutMs?: number; fresh?: () => Readable },
  ): Promise<Answer> {
    const { signal, timeoutMs = CALL_MS, fresh, ...rest } = outgoing;
    const answer = await insist({ signal, retried }, async () => {
      const stream = fresh?.();
      const one = await http
        .send({ ...rest, signal, timeoutMs, ...(stream ? { stream } : {}) })
        .catch(failed);
      return one && isForLater(one.status) ? undefined : one;
    });
    return judged(answer, rest.path);
  }

  function judged(answer: Answer, path: string): Answer {
    if (answer.status < 300) return answer;
    const detail = detailOf(answer.body);
    // One file that is not there does not mean that the run is gone.
    const isMissing = answer.status === 404 && !/\/(artifacts|attachments)\//.test(path);
    if (answer.status === 409 || isMissing) throw new LeaseLostError(detail);
    throw new HttpStatusError(answer.status, detail);
  }

  const post = async <T>(path: string, body: object, signal: AbortSignal, timeoutMs?: number): Promise<T> => {
    const answer = await ask({ method: "POST", path, body, signal, ...(timeoutMs ? { timeoutMs } : {}) });
    return (answer.body.length > 0 ? JSON.parse(answer.body.toString()) : undefined) as T;
  };

  return {
    claim: (body, signal) => post("/claim", body, signal, body.wait_ms + CALL_MS),
    heartbeat: (body, signal) => post("/heartbeat", body, signal),
    async history(executionId, after, signal) {
      const path = `/executions/${executionId}/events?after=${after}`;
      return JSON.parse((await ask({ method: "GET", path, signal })).body.toString());
    },
    prepare: (executionId, body, signal) => post(`/executions/${executionId}/prepare`, body, signal),
    reportBuild: (buildId, body, signal) => post(`/builds/${buildId}/report`, body, signal),
    finishBuild: (buildId, body, signal) => post(`/builds/${buildId}/finish`, body, signal),
    reserve: (executionId, body, signal) => post(`/executions/${executionId}/reserve`, body, signal),
    settle: (executionId, body, signal) => post(`/executions/${executionId}/settle`, body, signal),
    report: (executionId, body, signal) => post(`/executions/${executionId}/report`, body, signal),
    delta: (executionId, body, signal) => post(`/executions/${executionId}/delta`, body, signal),
    finish: (executionId, body, signal) => post(`/executions/${executionId}/finish`, body, signal),
    close: (executionId, body, signal) => post(`/executions/${executionId}/close`, body, signal),
    release: (executionId, body, signal) => post(`/executions/${executionId}/release`, body, signal),
    async file(executionId, path, signal) {
      const place = `/executions/${executionId}/${path}`;
      return (await ask({ method: "GET", path: place, signal, timeoutMs: 60_000 })).body;
    },
    async putBlob(file, sha256, signal) {
      await ask({
        method: "PUT",
        path: `/blobs/${sha256}`,
        signal,
        timeoutMs: 600_000,
        fresh: () => createReadStream(file),
      });
    },
    // Until it begins; a stream that breaks off later is its reader's concern.
    getBlob: (sha256, signal) =>
      insist({ signal, retried }, () =>
        http
          .open({
            method: "GET",
            path: `/blobs/${sha256}`,
            signal,
            timeoutMs: 60_000,
            accept: "application/octet-stream",
          })
          .catch((error) => {
            if (error instanceof HttpStatusError && !isForLater(error.status)) throw error;
            return undefined;
          }),
      ),
    async signals(workerId, heard, signal) {
      for (let wait = BACK_OFF_MS.first; !signal.aborted; ) {
        try {
          const path = `/signals?worker_id=${workerId}`;
          const stream = await http.open({
            method: "GET",
            path,
            signal,
            timeoutMs: 60_000,
            accept: "text/event-stream",
          });
          wait = BACK_OFF_MS.first;
          for await (const data of dataOf(stream)) heard(JSON.parse(data));
        } catch {
          // The heartbeat says the same, only later; come back when the server does.
        }
        await pause(wait, undefined, { signal }).catch(() => {});
        wait = Math.min(wait * 2, BACK_OFF_MS.last);
      }
    },
    stop: () => http.close(),
  };
}

/** Tries, ever more rarely, until there is an answer. */
async function insist<T>(
  { signal, retried }: { signal: AbortSignal; retried: () => void },
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  for (let wait = BACK_OFF_MS.first; ; wait = Math.min(wait * 2, BACK_OFF_MS.last)) {
    signal.throwIfAborted();
    const answer = await attempt();
    if (answer !== undefined) return answer;
    signal.throwIfAborted();
    retried();
    await pause(wait * (0.5 + Math.random()), undefined, { signal });
  }
}

function isForLater(status: number): boolean {
  return status >= 500 || status === 429;
}

function detailOf(body: Buffer): string {
  try {
    return JSON.parse(body.toString()).detail;
  } catch {
    return "no reason given";
  }
}

async function* dataOf(stream: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of stream.setEncoding("utf8")) {
    rest += chunk;
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 2);
      if (line.startsWith("data: ")) yield line.slice("data: ".length);
    }
  }
}
