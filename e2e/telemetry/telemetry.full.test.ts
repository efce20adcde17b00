import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { startReceiver } from "../../packages/telemetry/test/otlp-receiver.ts";
import { freePort } from "../../scripts/tests/free-port.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { root, watch } from "../process.ts";
import { expectWholeTrace, runCommand } from "./traced-installation.ts";

/**
 * Builds the OpenTelemetry collector from its Go modules. Go keeps what it has compiled, so only the first build takes
 * minutes.
 */
async function buildCollector(): Promise<string> {
  const program = join(root, ".tools/collector/test-collector");
  mkdirSync(join(root, ".tools/collector"), { recursive: true });
  const args = ["build", "-buildvcs=false", "-trimpath", "-o", program, "."];
  const options = {
    cwd: join(import.meta.dirname, "collector"),
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "" },
  };
  await promisify(execFile)("go", args, options).catch(({ stderr, message }) => {
    throw new Error(`The collector cannot be built with Go 1.25 or later: ${stderr || message}`);
  });
  return program;
}

test("a collector receives the whole trace of a run, its metrics and its logs", {
  timeout: 1_800_000,
}, async () => {
  const program = await buildCollector();
  const receiver = await startReceiver();
  const folder = mkdtempSync(join(tmpdir(), "outrider-collector-"));
  const endpoint = `127.0.0.1:${await freePort()}`;
  const pipeline = { receivers: ["otlp"], exporters: ["otlp_http"] };
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint } } } },
    exporters: { otlp_http: { endpoint: receiver.url, sending_queue: { enabled: false } } },
    service: {
      telemetry: { metrics: { level: "none" } },
      pipelines: { traces: pipeline, metrics: pipeline, logs: pipeline },
    },
  };
  // JSON is also YAML.
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(config));
  const child = spawn(program, ["--config", join(folder, "config.yaml")], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const collector = watch(child, "collector");
  try {
    await collector.waitForOutput("Everything is ready");
    const run = await runCommand({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://${endpoint}` });
    await expectWholeTrace(receiver, run);
    await vi.waitUntil(() => receiver.logs.some(({ service }) => service === "outrider-worker"), waitOptions);
    const names = new Set(receiver.metrics.map(({ name }) => name));
    expect(names).toContain("outrider_http_requests_total");
    expect(names).toContain("outrider_http_request_seconds");
    expect(names).toContain("gen_ai.client.token.usage");
    // The collector reports data that it refuses.
    expect(collector.stderr()).not.toMatch(/\t(error|warn)\t/);
  } finally {
    await collector.end("SIGTERM");
    await receiver.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
