import type { Started } from "@outrider/agent/workspace";
import type { Recording } from "./recording.ts";
import type { Sandbox } from "./sandboxes/sandbox.ts";

interface BackgroundOptions {
  sandbox: Sandbox;
  recording: Recording;
  env: Record<string, string>;
  signal: AbortSignal;
  /** Gives the attempt up: somebody else ended the command. */
  lose(reason: string): void;
}

/** Starts a command that goes on beside others. Its end is that of all its processes, with its output delivered. */
export async function startInBackground(
  command: string,
  { sandbox, recording, env, signal, lose }: BackgroundOptions,
): Promise<Omit<Started, "changes">> {
  const running = await sandbox.spawn(command, { signal, env });
  const began = performance.now();
  let isKilled = false;
  const kill = () => {
    isKilled = true;
    // Whoever waits for the end learns of it there.
    void running.kill();
  };
  running.stdin.on("error", () => {});
  running.stdin.end();
  const deliver = async (stream: "stdout" | "stderr") => {
    try {
      for await (const data of running[stream] as AsyncIterable<Buffer>) recording.push(stream, data);
    } catch {
      // Its reader is gone with the sandbox; what came is what there is.
    }
  };
  const end = async () => {
    try {
      const [{ exitCode }] = await Promise.all([running.ended, deliver("stdout"), deliver("stderr")]);
      const duration_ms = performance.now() - began;
      const isOurs = isKilled || signal.aborted || recording.isOutOfMemory;
      if (exitCode === null && !isOurs) lose("A command in the background was killed from outside.");
      const artifact_id = signal.aborted ? undefined : await recording.end();
      return { exit_code: exitCode, duration_ms, ...(artifact_id ? { artifact_id } : {}) };
    } finally {
      recording.remove();
    }
  };
  return { ended: end(), kill };
}
