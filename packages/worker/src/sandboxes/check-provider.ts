import { randomUUID } from "node:crypto";
import type { Sandbox, SandboxProvider } from "./sandbox.ts";

interface CheckOptions {
  /** How long a command may take, with the start of its sandbox. */
  timeoutMs?: number;
  /** Called after the command, before the sandbox is closed. */
  whileOpen?(sandbox: Sandbox): Promise<void>;
}

/** Executes a command in a new sandbox, because only this shows whether sandboxes work. */
export async function checkProvider(
  provider: Pick<SandboxProvider, "open">,
  { timeoutMs = 60_000, whileOpen = async () => {} }: CheckOptions = {},
): Promise<void> {
  const deadline = process.hrtime.bigint() + BigInt(timeoutMs) * 1_000_000n;
  const sandbox = await provider.open({ id: `check-${randomUUID()}`, deadline, label: { purpose: "check" } });
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const { exitCode } = await sandbox.exec("true", { signal, timeoutMs, onOutput: () => {} });
    if (exitCode !== 0) throw new Error(`The sandbox check failed: \`true\` returned exit code ${exitCode}.`);
    await whileOpen(sandbox);
  } catch (error) {
    await sandbox.close().catch(() => {}); // only the first failure is reported
    throw error;
  }
  await sandbox.close();
}
