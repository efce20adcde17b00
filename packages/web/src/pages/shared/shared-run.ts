import { limits } from "@outrider/contract/limits";
import { isFinal } from "@outrider/contract/run-state";
import {
  APIConnectionError,
  APIStatusError,
  NotFoundError,
  type RunEvent,
  type RunItem,
} from "@outrider/sdk";
import { observedFetch } from "../../frame/connection.ts";
import type { LogSource } from "../session/log/log-source.ts";

/** The part of a run that a share link exposes. */
export type SharedRun = Pick<
  RunItem,
  "run_id" | "title" | "state" | "phase" | "created_at" | "usage" | "turns" | "agent_config"
> &
  Partial<
    Pick<RunItem, "started_at" | "finished_at" | "status_message" | "artifacts" | "share" | "receipt">
  > & {
    creator: Pick<RunItem["creator"], "type" | "display_name">;
    source: RunItem["source"];
  };

interface SharedDocument {
  run: SharedRun;
  /** The run's events, with fewer fields than usual. */
  events: RunEvent[];
}

const POLL_MS = 2_000;

export const sharedUrl = (token: string) => `/shared/${encodeURIComponent(token)}`;

/** Requests the share link directly, without credentials and without the API client. */
async function request(url: string, accept: string, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await observedFetch(url, {
      headers: { accept },
      credentials: "omit",
      referrerPolicy: "no-referrer",
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new APIConnectionError("Could not reach the server.");
  }
  if (response.ok) return response;
  const { status, headers } = response;
  const ErrorClass = status === 404 ? NotFoundError : APIStatusError;
  throw new ErrorClass(status, headers, await response.json().catch(() => ""));
}

export async function readShared(
  token: string,
  { after, limit, signal }: { after: number; limit: number; signal?: AbortSignal | undefined },
): Promise<SharedDocument> {
  const url = `${sharedUrl(token)}?after=${after}&limit=${limit}`;
  return (await request(url, "application/json", signal)).json();
}

export async function readSharedDiff(token: string): Promise<string> {
  return (await request(`${sharedUrl(token)}/diff`, "text/x-diff")).text();
}

/** Returns the log source for a shared run. It polls, because share links have no stream. */
export function sharedSource(token: string, onRun: (run: SharedRun) => void): LogSource {
  const page = async (after: number, limit: number, signal?: AbortSignal) => {
    const { run, events } = await readShared(token, { after, limit, signal });
    onRun(run);
    return { run, events };
  };
  return {
    page: async (after, limit, signal) => (await page(after, limit, signal)).events,
    async *stream(after, signal) {
      for (let last = after; !signal.aborted; ) {
        const { run, events } = await page(last, limits.eventPageSize.max, signal);
        yield* events;
        last = events.at(-1)?.seq ?? last;
        if (events.length === 0 && isFinal(run.state)) return;
        if (events.length < limits.eventPageSize.max) await sleep(POLL_MS, signal);
      }
    },
    artifactUrl: (artifactId) => `${sharedUrl(token)}/artifacts/${encodeURIComponent(artifactId)}`,
  };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
