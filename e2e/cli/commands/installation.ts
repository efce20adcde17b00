import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { operations } from "../../../packages/cli/test/operations.ts";
import { startTestInstallation, type TestInstallation } from "../../../packages/worker/test/installation.ts";
import { type FaultProxy, startFaultProxy } from "../../clients/fault-proxy.ts";
import { root } from "../../process.ts";
import { type Cli, type CliOptions, type CliResult, createCli } from "../cli.ts";

/** The server and worker that all commands use. Records which API operations each command calls. */

export let installation: TestInstallation;
export let proxy: FaultProxy;
export let cli: Cli;
export let folder: string;
export const covered = new Set<string>();

const document = JSON.parse(readFileSync(join(root, "openapi.json"), "utf8"));
const routes = Object.entries(
  document.paths as Record<string, Record<string, { operationId: string }>>,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({
    operationId,
    method: method.toUpperCase(),
    pattern: new RegExp(`^/api/v1${path.replaceAll(/\{\w+\}/g, "[^/?]+")}(\\?|$)`),
  })),
);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "outrider-cli-files-"));
  installation = await startTestInstallation({
    OUTRIDER_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
    OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1",
  });
  await installation.worker({ repositoryPaths: [folder], allowedAddresses: "127.0.0.1" });
  proxy = await startFaultProxy(installation.origin);
  cli = createCli({ OUTRIDER_API_KEY: installation.key, OUTRIDER_BASE_URL: `${proxy.origin}/api/v1` });
});
afterAll(async () => {
  cli?.[Symbol.dispose]();
  await proxy?.close();
  await installation?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command that must succeed, and records the operations that it called. */
export async function runCommand(line: string[], options?: CliOptions): Promise<CliResult> {
  proxy.set([]);
  const result = await cli(line, options);
  expect(`${result.code} ${result.stderr}`, line.join(" ")).toMatch(/^0 /);
  for (const { method, path } of proxy.seen()) {
    const route = routes.find((candidate) => candidate.method === method && candidate.pattern.test(path));
    const command = route && operations[route.operationId];
    if (command && line.join(" ").startsWith(command)) covered.add(route.operationId);
  }
  return result;
}
