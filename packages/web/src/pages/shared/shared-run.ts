import {
  APIConnectionError,
  APIStatusError,
  NotFoundError,
  type RunEvent,
  type RunItem,
} from "@outrider/sdk";
import type { LogSource } from "../session/log/source.ts";

/** What a share link tells of a run: all that the pages below it may rely on. */
export type SharedRun = Pick<
  RunItem,
  "run_id" | "title" | "state" | "phase" | "created_at" | "usage" | "turns" | "agent_config"
> &
  Partial<Pick<RunItem, "started_at" | "finished_at" | "status_message" | "artifacts" | "share">> & {
    creator: Pick<RunItem["creator"], "type" | "display_name">;
    source: RunItem["source"];
  };

interface SharedDocument {
  run: SharedRun;
  /** The same events as for everybody, with fewer members. */
  events: RunEvent[];
}

const LOOK_MS = 2_000;

export const sharedAddress = (token: string) => `/shared/${encodeURIComponent(token)}`;

/** Speaks to the share link and to nothing else; not even the API's client is asked. */
async function ask(address: string, accept: string, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, {
      headers: { accept },
      credentials: "omit",
      referrerPolicy: "no-referrer",
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new APIConnectionError("The server was not reached.");
  }
  if (response.ok) return response;
  const { status, headers } = response;
  const Problem = status === 404 ? NotFoundError : APIStatusError;
  throw new Problem(status, headers, await response.json().catch(() => ""));
}

export async function readShared(
  token: string,
  { after, limit, signal }: { after: number; limit: number; signal?: AbortSignal | undefined },
): Promise<SharedDocument> {
  const address = `${sharedAddress(token)}?after=${after}&limit=${limit}`;
  return (await ask(address, "application/json", signal)).json();
}

export async function readSharedDiff(token: string): Promise<string> {
  return (await ask(`${sharedAddress(token)}/diff`, "text/x-diff")).text();
}

const finals = ["SUCCEEDED", "FAILED", "CANCELLED"];

/** A run's log as a share link opens it. There is no stream there, so it looks again and again. */
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
        const { run, events } = await page(last, 1_000, signal);
        yield* events;
        last = events.at(-1)?.seq ?? last;
        if (events.length === 0 && finals.includes(run.state)) return;
        if (events.length < 1_000) await pause(LOOK_MS, signal);
      }
    },
    artifactAddress: (artifactId) => `${sharedAddress(token)}/artifacts/${encodeURIComponent(artifactId)}`,
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
