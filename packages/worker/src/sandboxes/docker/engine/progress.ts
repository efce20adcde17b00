import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { EngineError, explainStreamError } from "./errors.ts";

export interface ProgressMessage {
  status?: string;
  id?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
  /** Data of the builder. */
  aux?: unknown;
}

/** Reads the messages of a call that reports its progress. Rejects if one of them is an error. */
export async function readProgress(
  stream: NodeJS.ReadableStream,
  onMessage: (message: ProgressMessage) => void = () => {},
): Promise<void> {
  const lines = createInterface({ input: stream as Readable });
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // Without this, the lines just end when the connection breaks.
  stream.on("error", (error: Error) => reject(brokenStream(error)));
  stream.on("aborted", () => reject(brokenStream()));
  const read = async () => {
    for await (const line of lines) {
      if (line.trim() === "") continue;
      const message = JSON.parse(line) as ProgressMessage;
      if (message.error) throw explainStreamError(message.error);
      onMessage(message);
    }
  };
  failed.catch(() => {}); // it is handled only while lines are read
  try {
    await Promise.race([read(), failed]);
  } finally {
    lines.close();
    (stream as Readable).destroy();
  }
}

function brokenStream(cause?: Error): EngineError {
  if (cause?.name === "AbortError")
    return new EngineError("canceled", "The request to the container engine was canceled.", { cause });
  return new EngineError(
    "unreachable",
    "The container engine closed the connection in the middle of a call. It may have stopped or restarted. Check whether it runs.",
    { cause },
  );
}
