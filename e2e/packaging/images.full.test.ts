import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { bundleName } from "../../scripts/release/bundle.ts";
import { readCheckout } from "../../scripts/release/checkout.ts";
import { makeRelease } from "../../scripts/release/main.ts";
import { testTimeout, waitOptions } from "../../scripts/tests/wait-options.ts";
import { root } from "../process.ts";
import { type Docker, importBase, startDocker } from "./docker.ts";

/**
 * Builds the images of server and worker, starts them without a network, and executes a run. Needs root, apt, debootstrap and
 * iproute2.
 */

const checkout = readCheckout(root);
const folder = mkdtempSync(join(tmpdir(), "outrider-images-test-"));
let engine: Docker;

beforeAll(async () => {
  engine = await startDocker(folder);
  await importBase(engine, folder, "outrider-base:test");
}, 2 * testTimeout);
afterAll(async () => {
  await engine?.docker("rm", "--force", "--volumes", "worker", "server").catch(() => {});
  await engine?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const waitForLog = (container: string, text: string) =>
  vi.waitFor(async () => {
    const { stdout, stderr } = await engine.docker("logs", container);
    expect(stdout + stderr).toContain(text);
  }, waitOptions);

/** Runs a command of Outrider in the container of the server, whose only writable folders are /tmp and its data. */
const outrider = async (command: string) =>
  (await engine.docker("exec", "--env", "HOME=/tmp", "server", "sh", "-c", command)).stdout;

test(
  "the images execute a run without a network",
  async () => {
    const { docker } = engine;
    const release = join(folder, "release");
    makeRelease(checkout, release);
    for (const name of ["server", "worker"]) {
      const file = join(root, `packaging/${name}.Dockerfile`);
      const inputs = ["BASE=outrider-base:test", `BUNDLE=${bundleName(checkout)}.tar.gz`];
      const options = ["--network", "none", ...inputs.flatMap((input) => ["--build-arg", input])];
      await docker("build", "--quiet", "--file", file, ...options, "--tag", `outrider-${name}:test`, release);
    }

    // The namespace of the daemon has only loopback. The other options of the server are those in compose.yaml.
    const common = ["run", "--detach", "--network", "host"];
    const hardened = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"];
    const noPrivileges = ["--security-opt", "no-new-privileges:true"];
    await docker(...common, "--name", "server", ...hardened, ...noPrivileges, "outrider-server:test");
    await waitForLog("server", "  workers ");
    await outrider("outrider login --key-stdin < /var/lib/outrider-server/key");
    const key = (await outrider("outrider key create machine --type worker")).trim();

    // A privileged container needs capabilities that this machine may not have. Without them, only the limits on memory,
    // processors, processes and disk are missing.
    const capabilities = ["SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE"].flatMap((name) => ["--cap-add", name]);
    const security = ["seccomp", "apparmor", "systempaths"].flatMap((name) => [
      "--security-opt",
      `${name}=unconfined`,
    ]);
    const variables = ["--env", `OUTRIDER_WORKER_KEY=${key}`];
    await docker(
      ...common,
      "--name",
      "worker",
      ...capabilities,
      ...security,
      ...variables,
      "outrider-worker:test",
    );
    await waitForLog("worker", "ready for runs");
    const output = await outrider("outrider run 'RUN: echo from a container; id -u' --follow");
    expect(output).toContain("from a container");
    expect(output).toContain("1000");

    await docker("stop", "--time", "90", "worker", "server");
    const { stdout } = await docker("inspect", "--format", "{{.State.ExitCode}}", "worker", "server");
    expect(stdout.trim().split("\n")).toEqual(["0", "0"]);
  },
  2 * testTimeout,
);
