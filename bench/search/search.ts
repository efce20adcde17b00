import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { searchFiles } from "../../packages/agent/src/tools/search-files.ts";
import type { ToolContext } from "../../packages/agent/src/tools/tool.ts";
import type { Workspace } from "../../packages/agent/src/workspace.ts";
import { Redactor } from "../../packages/worker/src/redaction/redact.ts";
import { ripgrepPath } from "../../packages/worker/src/sandboxes/files/programs.ts";
import { openLocalProvider } from "../../packages/worker/src/sandboxes/local/local-provider.ts";
import type { Sandbox } from "../../packages/worker/src/sandboxes/sandbox.ts";
import { probe } from "../../packages/worker/src/workspace/run-probe.ts";
import { type BenchResult, compare, interleave } from "../support/compare.ts";

const FILES = 30_000;
const TURNS = 5;
const QUANTILE = 0.25;
const PATTERN = "needle [0-9]+";
/** One file in a hundred contains the pattern once. */
const MATCHES = FILES / 100;

/** Creates a repository with 30,000 files of about 2 KiB, some of them ignored. */
const createRepository = `
git init -q . && printf 'out/\\n*.log\\n' > .gitignore && mkdir out && seq 5000 > out/built && seq 5000 > x.log
line='const value = compute(first, second); // an ordinary line of source code'
body=$(for n in $(seq 28); do echo "$line $n"; done)
for folder in $(seq 300); do
  mkdir -p src/$folder
  for file in $(seq 100); do echo "$body" > src/$folder/$file.ts; done
  echo "needle $folder" >> src/$folder/50.ts
done`;

/**
 * Measures the agent's tool `search_files` in a sandbox with 30,000 files. The baseline runs ripgrep as a command in the
 * same sandbox, with its defaults.
 */
export async function benchSearch(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-bench-search-"));
  chmodSync(folder, 0o711);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const provider = await openLocalProvider({ root: join(folder, "root"), log: console });
  stack.defer(() => provider.stop());
  const deadline = process.hrtime.bigint() + 3_600_000_000_000n;
  const sandbox = await provider.open({ id: randomUUID(), label: {}, deadline });
  stack.defer(() => sandbox.close());
  await run(sandbox, createRepository);

  const sides = {
    subject: () => timeOf(() => search(sandbox)),
    baseline: () => timeOf(() => run(sandbox, `${ripgrepPath} --line-number '${PATTERN}' .`)),
  };
  // Fills the kernel's caches.
  await sides.subject();
  await sides.baseline();
  const name = `search ${FILES} files`;
  return [await compare({ name, limit: 0.7, ...interleave({ turns: TURNS, quantile: QUANTILE, ...sides }) })];
}

const redactor = new Redactor(["a secret of the run"]);
const { signal } = new AbortController();

async function search(sandbox: Sandbox): Promise<string> {
  const workspace: Pick<Workspace, "home" | "ripgrep" | "probe" | "redact"> = {
    home: "/home/sandbox",
    ripgrep: ripgrepPath,
    probe: (script, options) => probe(sandbox, { ...options, script, redactor }),
    redact: (text) => redactor.redactLines(text),
  };
  const context = { workspace, signal } as ToolContext;
  return (await searchFiles.run({ pattern: PATTERN, max: 2 * MATCHES }, context)).output;
}

async function run(sandbox: Sandbox, command: string): Promise<string> {
  let output = "";
  const { exitCode } = await sandbox.exec(command, {
    signal,
    timeoutMs: 600_000,
    onOutput: ({ data }) => {
      output += data;
    },
  });
  if (exitCode !== 0) throw new Error(`Exit code ${exitCode}: ${output.slice(0, 1_000)}`);
  return output;
}

async function timeOf(find: () => Promise<string>): Promise<number[]> {
  const startedAt = performance.now();
  const output = await find();
  const took = performance.now() - startedAt;
  const found = output.match(/needle [0-9]+/g)?.length;
  if (found !== MATCHES) throw new Error(`Found ${found} matches instead of ${MATCHES}.`);
  return [took];
}
