import type { Looked, LookOptions } from "@outrider/agent/workspace";
import { quoted } from "./quoted.ts";
import { firstBytes } from "./sandboxes/output.ts";
import type { Sandbox } from "./sandboxes/sandbox.ts";

const LOOK_MS = 60_000;
const COMPLAINT_BYTES = 2_000;

/** Runs a script of ours that only looks, with nothing of the run's in its environment. */
export async function look(
  sandbox: Sandbox,
  { script, args, limit, signal }: LookOptions & { script: string },
): Promise<Looked> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
  const running = await sandbox.spawn(`set -- ${args.map(quoted).join(" ")}\n${script}`, { signal: within });
  running.stdin.on("error", () => {});
  running.stdin.end();
  const output: Buffer[] = [];
  let size = 0;
  const take = async () => {
    for await (const chunk of running.stdout as AsyncIterable<Buffer>) {
      output.push(chunk.subarray(0, limit - size));
      size += chunk.length;
      // It may be endless, and nobody wants the rest.
      if (size > limit) break;
    }
    if (size > limit) await running.kill();
  };
  const [complaint, { exitCode }] = await Promise.all([
    firstBytes(running.stderr, COMPLAINT_BYTES),
    running.ended,
    take(),
  ]);
  return {
    exit_code: exitCode,
    output: Buffer.concat(output),
    is_cut: size > limit,
    complaint: complaint.toString(),
  };
}
