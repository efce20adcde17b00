import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { root } from "../../../e2e/process.ts";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";

// Only root can create the process namespace.
test.skipIf(process.getuid?.() !== 0)(
  "a worker that is the first process of its container ends on SIGTERM while it starts",
  async () => {
    // A container engine that does not respond keeps the worker from becoming ready.
    const engine = createServer().listen(0, "127.0.0.1");
    await once(engine, "listening");
    const { port } = engine.address() as AddressInfo;
    const dataDir = mkdtempSync(join(tmpdir(), "outrider-worker-signals-"));
    const options = [
      "--data-dir",
      dataDir,
      "--sandbox",
      "docker",
      "--docker-host",
      `tcp://127.0.0.1:${port}`,
    ];
    const namespace = spawn(
      "unshare",
      ["--pid", "--fork", "--kill-child", join(root, "bin/outrider"), "worker", ...options],
      { env: { ...process.env, OUTRIDER_WORKER_KEY: "unused" }, stdio: "ignore" },
    );
    onTestFinished(() => {
      namespace.kill("SIGKILL");
      engine.close();
      rmSync(dataDir, { recursive: true, force: true });
    });
    const exited = once(namespace, "exit");
    const [client] = await once(engine, "connection");
    client.on("error", () => {});
    const worker = await vi.waitUntil(() => {
      const children = readFileSync(`/proc/${namespace.pid}/task/${namespace.pid}/children`, "utf8");
      return Number(children.trim()) || undefined;
    }, waitOptions);
    process.kill(worker, "SIGTERM");
    expect(await exited).toEqual([143, null]);
  },
);
