/** The program of a parser thread (see message-parser.ts). */
import { serveJobs } from "../../threads/serve-jobs.ts";
import type { PendingMethods } from "./message.ts";
import { parseMessage } from "./parse-message.ts";

/** A message for a parser thread. */
export interface ParseJob {
  bytes: Uint8Array;
  pending: PendingMethods;
}

serveJobs(({ bytes, pending }: ParseJob) => parseMessage(bytes, pending));
