import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redactor } from "../../packages/worker/src/redaction/redact.ts";
import { openLocalProvider } from "../../packages/worker/src/sandboxes/local/local-provider.ts";
import { connectToServer } from "../../packages/worker/src/server-client/server-client.ts";
import { storeFiles } from "../../packages/worker/src/workspace/store-files.ts";
import { type BenchResult, checkLimit } from "../support/compare.ts";
import { createWorkerKey, startOutrider } from "../support/start-outrider.ts";

/**
 * Measures what storing the files at the end of a turn takes: if the turn changed no file, which only has to be found out,
 * and if it changed one small file.
 */

const TURNS = 60;
const MAX_UNCHANGED_MS = 5;
const MAX_CHANGED_MS = 20;

export async function benchStore(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-bench-store-"));
  chmodSync(folder, 0o711);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const outrider = stack.use(await startOutrider());
  const server = connectToServer({ url: outrider.origin, key: await createWorkerKey(outrider) });
  stack.defer(() => server.stop());
  const provider = await openLocalProvider({ root: join(folder, "root"), log: console });
  stack.defer(() => provider.stop());
  const deadline = process.hrtime.bigint() + 600_000_000_000n;
  const sandbox = await provider.open({ id: randomUUID(), label: {}, deadline });
  stack.defer(() => sandbox.close());

  const { signal } = new AbortController();
  const redactor = new Redactor([]);
  const emitNotice = ({ message }: { message: string }) => {
    throw new Error(message);
  };
  let stored: string | undefined;
  const store = async () => {
    const { value } = await sandbox.fingerprint({ signal });
    if (value === stored) return false;
    const options = { server, redactor, emitNotice, signal, repositories: [] };
    await storeFiles(sandbox, { ...options, folder: join(folder, "uploads") });
    stored = value;
    return true;
  };
  const turn = async (command: string, changesFiles: boolean) => {
    await sandbox.exec(command, { signal, timeoutMs: 60_000, onOutput: () => {} });
    const startedAt = performance.now();
    if ((await store()) !== changesFiles) throw new Error(`Unexpected end of a turn with: ${command}`);
    return performance.now() - startedAt;
  };

  await turn("echo start > file", true);
  const times = { unchanged: [] as number[], changed: [] as number[] };
  for (let n = 1; n <= TURNS; n++) {
    times.unchanged.push(await turn("cat file", false));
    times.changed.push(await turn(`echo ${n} > file`, true));
  }
  return [
    checkLimit({ name: "store unchanged", measured: times.unchanged, max: MAX_UNCHANGED_MS, unit: "ms" }),
    checkLimit({ name: "store one file", measured: times.changed, max: MAX_CHANGED_MS, unit: "ms" }),
  ];
}
