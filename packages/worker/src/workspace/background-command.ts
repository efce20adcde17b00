import type { BackgroundProcess } from "@outrider/agent/workspace";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { CommandRecorder } from "./command-recorder.ts";

interface BackgroundOptions {
  sandbox: Sandbox;
  recorder: CommandRecorder;
  env: Record<string, string>;
  signal: AbortSignal;
  /** Abandons the attempt, because something outside the run killed the command. */
  abandon(reason: string): void;
}

/** Starts a background command. It ends when all its processes have exited and its output has been delivered. */
export async function startInBackground(
  command: string,
  { sandbox, recorder, env, signal, abandon }: BackgroundOptions,
): Promise<Omit<BackgroundProcess, "changes">> {
  const process = await sandbox.spawn(command, { signal, env, mergeOutput: true });
  const startedAt = performance.now();
  let isKilled = false;
  const kill = () => {
    isKilled = true;
    // `ended` reports the result.
    void process.kill();
  };
  process.stdin.on("error", () => {});
  process.stdin.end();
  process.stderr.resume();
  const record = async () => {
    try {
      for await (const data of process.stdout as AsyncIterable<Buffer>) recorder.push(data);
    } catch {
      // The sandbox closed the stream, so no more output will arrive.
    }
  };
  const waitForEnd = async () => {
    try {
      const [{ exitCode }] = await Promise.all([process.ended, record()]);
      const duration_ms = performance.now() - startedAt;
      const isExpected = isKilled || signal.aborted || (await recorder.isOutOfMemory());
      if (exitCode === null && !isExpected)
        abandon("A background command was killed by a process outside the run.");
      const stored = signal.aborted ? {} : await recorder.end();
      return { exit_code: exitCode, duration_ms, ...stored };
    } finally {
      recorder.remove();
    }
  };
  return { ended: waitForEnd(), kill };
}
