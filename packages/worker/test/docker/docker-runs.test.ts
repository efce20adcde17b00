/** Runs of workers that use the shared Docker, as users and operators see them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { root } from "../../../../e2e/process.ts";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import type { Log } from "../../src/log.ts";
import { describeEngine } from "../../src/sandboxes/docker/engine/describe.ts";
import { EngineError, isEngineError } from "../../src/sandboxes/docker/engine/errors.ts";
import { labelNames, parseLabel } from "../../src/sandboxes/docker/labels.ts";
import { ensureSystemImage } from "../../src/sandboxes/docker/volumes/system-image.ts";
import type { WorkerOptions } from "../../src/worker-runtime.ts";
import { makeImage, push, startRegistry } from "../images/registry-server.ts";
import { systemLayer } from "../images/system-image.ts";
import { outputOf, startTestInstallation, type TestInstallation } from "../installation.ts";
import { openSharedEngine } from "./docker-support.ts";
import { startEngineProxy } from "./engine-proxy.ts";
import { sharedDocker } from "./shared-docker.ts";
import { canRunEngines } from "./test-engine.ts";

describe.skipIf(!canRunEngines)("a run in containers", () => {
  let installation: TestInstallation;
  let systemImage: string;
  beforeAll(async () => {
    installation = await startTestInstallation();
    const owner = { installation: "test-conformance" };
    systemImage = await ensureSystemImage(await openSharedEngine(), { owner });
  });
  afterAll(() => installation.stop());

  const settings = (host: string) => ({
    sandbox: "docker" as const,
    docker: { engine: { host }, systemImage },
  });
  /** Starts a worker that executes only the runs of this test. */
  async function startWorker(options: Partial<WorkerOptions>): Promise<void> {
    const worker = await installation.worker(options);
    onTestFinished(() => worker.drain());
  }
  const settled = { config: { idle_timeout_minutes: 0 } };

  test("says in its receipt and in the list of workers which engine executes it, and what that enforces", async () => {
    await startWorker({ name: "described", ...settings(await sharedDocker()) });
    const { name, version, defaultRuntime } = await describeEngine(await openSharedEngine());
    const engine = { engine: name, engine_version: version, runtime: defaultRuntime };
    expect(engine).toMatchObject({ engine: "docker", runtime: "runc" });

    const id = await installation.create(["RUN: echo on"], settled);
    const { receipt } = await installation.until(id, "SUCCEEDED");
    expect(receipt.sandbox).toEqual({ kind: "docker", ...engine });
    expect(receipt.resources).toMatchObject({
      memory: { enforced: true, limit: expect.any(Number) },
      pids: { enforced: true, limit: 4096 },
      network: { enforced: true },
      disk: { enforced: false, reason: expect.stringContaining("XFS with project quotas") },
    });

    // A heartbeat carries it.
    const listed = await vi.waitUntil(async () => {
      const { body } = await installation.call("GET", "/workers");
      const found = body.workers.find((each: { name: string }) => each.name === "described");
      return found?.sandbox_engine ? found : undefined;
    }, waitOptions);
    expect(listed).toMatchObject({ sandbox: "docker", sandbox_engine: engine });
    expect(listed.sandbox_controls).toMatchObject({
      ...{ memory: { enforced: true }, cpus: { enforced: true }, pids: { enforced: true } },
      ...{ network: { enforced: true }, disk: { enforced: false }, freeze: { enforced: true } },
    });
  });

  test("has the image that the engine pulled with the credentials of docker_image_secret", async () => {
    // As `htpasswd -nbB me secret` prints it.
    const htpasswd = "me:$2b$04$wDvlQNIUtlZizmc3AYAbU.w3jDvv8syDiuUOfDhr/xpiGpDtsPYXy\n";
    const registry = await startRegistry({ htpasswd });
    onTestFinished(() => registry.close());
    registry.headers.authorization = `Basic ${Buffer.from("me:secret").toString("base64")}`;
    const layers = [systemLayer({ "etc/flavor": "private\n" })];
    const image = makeImage({ layers, config: { Env: ["PATH=/usr/bin:/bin"] } });
    const docker_image = await push(registry, "acme/private:1", image);
    await startWorker({ ...settings(await sharedDocker()), allowedAddresses: "127.0.0.1" });
    const runWith = async (name: string, value: string) => {
      await installation.call("PUT", `/agent/secrets/${name}`, { body: { value } });
      const { body, status } = await installation.call("POST", "/agent/environments", {
        body: { name, docker_image, docker_image_secret: name },
      });
      expect(status).toBe(201);
      const config = { environment_id: body.environment_id, idle_timeout_minutes: 0 };
      return await installation.create(["RUN: cat /etc/flavor"], { config });
    };
    const denied = await installation.until(await runWith("WRONG_LOGIN", "me:wrong-password"), "FAILED");
    expect(denied.status_message.message).toMatch(/denied access to the image.*docker_image_secret/);
    expect(denied.status_message.message).not.toContain("wrong-password");
    const id = await runWith("RIGHT_LOGIN", "me:secret");
    await installation.until(id, "SUCCEEDED");
    expect(outputOf(await installation.events(id))).toBe("private\n");
  });

  test("is executed by a worker whose machine has no local sandboxes, and that says so", async () => {
    const folder = mkdtempSync(join(tmpdir(), "outrider-no-namespaces-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const write = (name: string, script: string) => {
      writeFileSync(join(folder, name), script, { mode: 0o755 });
      return join(folder, name);
    };
    // As on a system that does not let users create namespaces.
    const bwrap = write(
      "bwrap",
      "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n",
    );
    const mount = `mount --bind ${bwrap} "$(readlink -f "$(command -v bwrap)")"`;
    const program = write(
      "outrider",
      `#!/bin/sh\nexec unshare --mount sh -c '${mount} && exec "$@"' sh ${root}/bin/outrider "$@"\n`,
    );
    const options = ["--docker-host", await sharedDocker(), "--docker-system-image", systemImage];
    const worker = await installation.workerProcessOf(program, "auto", ...options);
    onTestFinished(async () => void (await worker.end("SIGTERM")));
    const output = worker.stdout() + worker.stderr();
    expect(output).toMatch(/using containers, because local sandboxes cannot work on this machine/);
    expect(output).toMatch(/This system does not let unprivileged users create namespaces/);
    const id = await installation.create(["RUN: echo on > file", "RUN: cat file"], settled);
    const { receipt } = await installation.until(id, "SUCCEEDED");
    expect(receipt).toMatchObject({ worker: "auto", sandbox: { kind: "docker" } });
    expect(outputOf(await installation.events(id))).toBe("on\n");
  });

  test("continues in another attempt if the engine is lost while its sandbox opens", async () => {
    let lost = 0;
    let isArmed = false;
    const host = await startEngineProxy({
      isLost(request) {
        if (!isArmed || !/^POST .*\/(volumes|containers)\/create/.test(request)) return false;
        lost += 1;
        isArmed = false;
        return true;
      },
    });
    const lines: string[] = [];
    const log: Log = { info() {}, warn: (_, message) => void lines.push(message), error() {} };
    await startWorker({ ...settings(host), log });
    isArmed = true;
    const id = await installation.create(["RUN: echo on"], settled);
    await vi.waitUntil(() => lines.includes("abandoned an attempt of a run"), waitOptions);
    expect(lost).toBe(1);
    await installation.expireLease(id);
    expect(await installation.until(id, "SUCCEEDED")).toMatchObject({ attempts: 2 });
    expect(outputOf(await installation.events(id))).toBe("on\n");
  });

  test("waits for another attempt of its build if the engine is lost while the build's sandbox opens", async () => {
    let isArmed = false;
    const host = await startEngineProxy({
      isLost(request) {
        if (!isArmed || !/^POST .*\/containers\/create/.test(request)) return false;
        isArmed = false;
        return true;
      },
    });
    const { body } = await installation.call("POST", "/agent/environments", {
      body: { name: "lost-engine", setup_commands: ["echo made > made"] },
    });
    const config = { environment_id: body.environment_id, idle_timeout_minutes: 0 };
    await startWorker(settings(host));
    // The worker opens containers of its own when it starts.
    isArmed = true;
    const id = await installation.create(["RUN: cat made"], { config });
    await endLostAttempt(body.environment_id);
    expect(await installation.until(id, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    expect(outputOf(await installation.events(id))).toBe("made\n");
  });

  test("has a build that was made again after its container was killed", async () => {
    await installation.call("PUT", "/agent/secrets/PACE", { body: { value: "wait-for-the-end" } });
    const command = 'if [ "$PACE" = wait-for-the-end ]; then echo waiting; sleep 600; fi; echo made > made';
    const environment = { name: "killed", setup_commands: [command], build_secrets: ["PACE"] };
    const { body } = await installation.call("POST", "/agent/environments", { body: environment });
    await startWorker(settings(await sharedDocker()));
    const path = `/agent/environments/${body.environment_id}/builds`;
    const { build_id } = (await installation.call("POST", path)).body;
    const isWaiting = () => installation.db`
      select 1 from build_events where build_id = ${build_id} and data ->> 'text' like 'waiting%'`;
    await vi.waitUntil(async () => (await isWaiting()).length > 0, waitOptions);
    await killContainers(build_id);
    await installation.call("PUT", "/agent/secrets/PACE", { body: { value: "continue-at-once" } });
    await endLostAttempt(body.environment_id);
    const find = async () => (await installation.call("GET", `${path}/${build_id}`)).body;
    await vi.waitUntil(async () => (await find()).state === "READY", waitOptions);
  });

  /** Waits until the worker has given up its attempt to build, and ends the attempt's lease. */
  async function endLostAttempt(environment_id: string): Promise<void> {
    const { db } = installation;
    const findNotice = () => db`
      select 1 from build_events join builds using (build_id)
      where environment_id = ${environment_id} and type = 'notice' and data ->> 'message' like '%Another attempt starts%'`;
    await vi.waitUntil(async () => (await findNotice()).length > 0, waitOptions);
    await db`update builds set lease_expires_at = outrider_now() where environment_id = ${environment_id}`;
  }
});

test.each([
  ["unreachable", true],
  ["timeout", true],
  ["container_stopped", true],
  ["disk_full", false],
  ["out_of_memory", false],
  ["runtime_unknown", false],
] as const)("another attempt can work after the failure %s of an engine: %s", (code, isRecoverable) => {
  const error = new EngineError(code, "It failed.");
  expect(isEngineError(error, code)).toBe(true);
  expect(error.isRecoverable).toBe(isRecoverable);
});

/** Kills the containers of a build, as `docker kill` does. */
async function killContainers(build_id: string): Promise<void> {
  const { docker } = await openSharedEngine();
  const containers = await docker.listContainers({
    filters: JSON.stringify({ label: [labelNames.sandbox] }),
  });
  const found = containers.filter(({ Labels }) => parseLabel(Labels).build_id === build_id);
  expect(found).not.toEqual([]);
  for (const { Id } of found) await docker.getContainer(Id).kill();
}
