import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { Spawned } from "./sandbox.ts";

/** How long to wait for a process to exit after its output has ended. Its exit code explains the error. */
const EXIT_WAIT_MS = 1_000;

/**
 * Describes how a process exited, after reading the rest of its stderr. Returns an empty string if it is still running.
 */
export async function describeExit({ ended, stderr }: Pick<Spawned, "ended" | "stderr">): Promise<string> {
  const exit = Promise.all([ended, finished(stderr, { writable: false }).catch(() => {})]);
  const result = await Promise.race([exit, pause(EXIT_WAIT_MS, undefined, { ref: false })]);
  if (!result) return "";
  const [{ exitCode, signal }] = result;
  return exitCode === null
    ? `It was killed${signal ? ` by ${signal}` : ""}.`
    : `It exited with code ${exitCode}.`;
}
