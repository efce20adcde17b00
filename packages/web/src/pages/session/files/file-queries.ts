import { APIStatusError, type RunFiles } from "@outrider/sdk";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { outrider } from "../../../api.ts";
import { isUnreachable } from "../../../queries.ts";

/** The server reads at most eight files at the same time for a user. A second browser tab may be open. */
const MAX_CONCURRENT = 3;
/** How often a request is repeated while a worker is still opening the files. Each waits for up to 15 seconds. */
const MAX_RETRIES = 8;

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= MAX_CONCURRENT) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}

const isTemporary = (error: unknown) =>
  error instanceof APIStatusError && (error.status === 503 || error.status === 429);

const options = {
  retry: (count: number, error: Error) =>
    isUnreachable(count, error) || (count < MAX_RETRIES && isTemporary(error)),
  retryDelay: 1_500,
};

export const filesKey = (runId: string) => ["run", runId, "files"];

export function folderQuery(runId: string, path: string) {
  return queryOptions({
    ...options,
    queryKey: [...filesKey(runId), "folder", path],
    queryFn: ({ signal }): Promise<RunFiles> =>
      inTurn(() => outrider.files.list(runId, { path }, { maxRetries: 0, signal })),
  });
}

/** `version` changes with the file, so that an open file follows its changes. */
export function contentQuery(runId: string, path: string, version: string) {
  return queryOptions({
    ...options,
    queryKey: [...filesKey(runId), "content", path, version],
    queryFn: ({ signal }) => readFile(runId, path, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    placeholderData: keepPreviousData,
  });
}

export async function readFile(
  runId: string,
  path: string,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await inTurn(() =>
    outrider.files.read(runId, { path }, { maxRetries: 0, ...(signal && { signal }) }),
  );
  return new Uint8Array(bytes);
}
