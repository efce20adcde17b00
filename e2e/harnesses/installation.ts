import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { harnessFacts, type KnownHarness, type WireFormat } from "@outrider/contract/harness";
import { startTestInstallation } from "../../packages/worker/test/installation.ts";
import { harnessCache } from "../../scripts/tests/harness-cache.ts";
import { startUpstream } from "./upstream.ts";

export type HarnessInstallation = Awaited<ReturnType<typeof startHarnessInstallation>>;

/** The real service with one worker process that executes runs with a harness, offline. */
export async function startHarnessInstallation(
  harness: KnownHarness,
  { canLoadSessions, slots }: { canLoadSessions: boolean; slots: number },
) {
  const facts = harnessFacts[harness];
  const key = `sk-of-the-provider-${Math.random().toString(36).slice(2)}0123456789`;
  const upstream = await startUpstream(facts.wire_formats[0] as WireFormat, key);
  const folder = mkdtempSync(join(tmpdir(), "outrider-harness-"));
  const models = join(folder, "models.json");
  writeFileSync(models, JSON.stringify(upstream.models));
  const installation = await startTestInstallation({ OUTRIDER_MODELS: models });
  const startWorker = (name: string) =>
    installation.workerProcess(name, "--harness-cache", harnessCache, "--slots", String(slots));
  const workers = [await startWorker("first")];
  const config = (more: object = {}) => ({ harness, model_id: "scripted", ...more });

  return {
    ...installation,
    harness,
    title: facts.title,
    supportsMcp: facts.supports_mcp_servers,
    canLoadSessions,
    upstream,
    /** The provider's key, which nothing but the worker may know. */
    key,
    config,
    create: (script: string[], body: object = {}) =>
      installation.create(script, { config: config(), ...body }),
    workerOutput: () => workers.map((worker) => worker.stdout() + worker.stderr()).join(""),

    /** Kills the worker and starts another one. */
    async replaceWorker() {
      await workers.at(-1)?.end("SIGKILL");
      workers.push(await startWorker("second"));
    },

    async stop() {
      await installation.stop();
      await upstream.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
