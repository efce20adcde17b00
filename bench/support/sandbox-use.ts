import { randomUUID } from "node:crypto";
import type { Sandbox, SandboxImage, SandboxProvider } from "../../packages/worker/src/sandboxes/sandbox.ts";

/** The command that benchmarks of sandboxes execute. */
export const COMMAND = "echo done";
const COMMANDS_PER_TURN = 5;

export function requireDone(output: string): void {
  if (output !== "done\n") throw new Error(`Unexpected output: ${output}`);
}

export const openSandbox = (provider: SandboxProvider, image?: SandboxImage): Promise<Sandbox> =>
  provider.open({
    ...{ id: randomUUID(), label: {} },
    ...(image ? { image } : {}),
    deadline: process.hrtime.bigint() + 600_000_000_000n,
  });

export async function runInSandbox(sandbox: Sandbox): Promise<void> {
  let output = "";
  const { signal } = new AbortController();
  await sandbox.exec(COMMAND, {
    ...{ signal, timeoutMs: 60_000 },
    onOutput: ({ data }) => {
      output += data;
    },
  });
  requireDone(output);
}

/** Returns how long it takes to open something and to execute its first command. Its end does not count. */
export async function timeOfFirstCommand(
  open: () => Promise<{ run(): Promise<void>; end(): Promise<void> }>,
): Promise<number> {
  const startedAt = performance.now();
  const { run, end } = await open();
  await run();
  const took = performance.now() - startedAt;
  await end();
  return took;
}

/** Returns how long each of several further commands takes. */
export async function timesOfCommands(run: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < COMMANDS_PER_TURN; n++) {
    const startedAt = performance.now();
    await run();
    times.push(performance.now() - startedAt);
  }
  return times;
}
