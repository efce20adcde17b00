import { createHash } from "node:crypto";
import {
  chownSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { bundleName } from "../../scripts/release/bundle.ts";
import { readCheckout } from "../../scripts/release/checkout.ts";
import { testTimeout, waitOptions } from "../../scripts/tests/wait-options.ts";
import { root } from "../process.ts";
import { buildStorageImages, type Docker, importBase, startDocker } from "./docker.ts";
import { buildReleaseImages } from "./release-images.ts";

/**
 * Builds the images of server and worker, and starts them alone and with compose.yaml. Starts the systemd units in a
 * container with systemd. The steps are those in docs/install.md. Needs root, apt, debootstrap, Go, iproute2, curl and
 * openssl.
 */

const checkout = readCheckout(root);
const folder = mkdtempSync(join(tmpdir(), "outrider-images-test-"));
const release = join(folder, "release");
const base = "outrider-base:test";
let engine: Docker;
let stopped = false;

beforeAll(async () => {
  engine = await startDocker(folder);
  await importBase(engine, folder, base);
  await buildReleaseImages(engine, { checkout, release, base });
}, 3 * testTimeout);
afterAll(async () => {
  if (!stopped) await engine?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test(
  "the images execute a run without a network",
  async () => {
    const { docker } = engine;
    const waitForLog = (container: string, text: string) =>
      vi.waitFor(async () => {
        const { stdout, stderr } = await engine.run(["docker", "logs", container]);
        expect(stdout + stderr).toContain(text);
      }, waitOptions);
    /** Runs a command of Outrider in the container of the server, whose only writable folders are /tmp and its data. */
    const outrider = (command: string) => docker("exec", "--env", "HOME=/tmp", "server", "sh", "-c", command);

    // The daemon has no way to other machines. The other options of the server are those in compose.yaml.
    const common = ["run", "--detach", "--network", "host"];
    const hardened = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"];
    const noPrivileges = ["--security-opt", "no-new-privileges:true"];
    await docker(...common, "--name", "server", ...hardened, ...noPrivileges, "outrider-server:test");
    await waitForLog("server", "  workers ");
    await outrider("outrider login --key-stdin < /var/lib/outrider-server/key");
    const key = (await outrider("outrider key create machine --type worker")).trim();

    // The fewest privileges that docs/install.md names. compose.yaml uses a privileged container.
    const capabilities = ["SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE"].flatMap((name) => ["--cap-add", name]);
    const security = ["seccomp", "apparmor", "systempaths"].flatMap((name) => [
      "--security-opt",
      `${name}=unconfined`,
    ]);
    const variables = ["--env", `OUTRIDER_WORKER_KEY=${key}`];
    const options = [...capabilities, ...security, ...variables];
    await docker(...common, "--name", "worker", ...options, "outrider-worker:test");
    await waitForLog("worker", "ready for runs");
    const output = await outrider("outrider run 'RUN: echo from a container; id -u' --follow");
    expect(output).toContain("from a container");
    expect(output).toContain("1000");

    await docker("stop", "--time", "90", "worker", "server");
    const codes = await docker("inspect", "--format", "{{.State.ExitCode}}", "worker", "server");
    expect(codes.trim().split("\n")).toEqual(["0", "0"]);
    await docker("rm", "--volumes", "worker", "server");
  },
  2 * testTimeout,
);

test(
  "compose.yaml starts a service that executes runs and stores their files in S3",
  async () => {
    await buildStorageImages(engine, folder, base);
    const project = join(folder, "project");
    mkdirSync(join(project, "tls"), { recursive: true });
    cpSync(join(root, "packaging/compose.yaml"), join(project, "compose.yaml"));
    const settings = ["POSTGRES_PASSWORD=database", "S3_SECRET_KEY=storage-secret", "OUTRIDER_VERSION=test"];
    writeFileSync(join(project, ".env"), `${settings.join("\n")}\n`);
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "tls/key.pem"];
    const names = ["-subj", "/CN=Outrider", "-addext", "subjectAltName=DNS:localhost,DNS:server"];
    const certificate = ["req", "-x509", ...key, ...names, "-days", "365", "-out", "tls/certificate.pem"];
    await engine.run(["openssl", ...certificate], { cwd: project });
    chownSync(join(project, "tls/key.pem"), 990, 0);
    const compose = async (...args: string[]) =>
      (await engine.run(["docker", "compose", ...args], { cwd: project })).stdout;

    await compose("up", "--detach", "server");
    const readKey = () => compose("exec", "-T", "server", "cat", "/var/lib/outrider-server/key");
    const apiKey = (await vi.waitFor(readKey, waitOptions)).trim();
    /** Calls the API through the published port. */
    const call = async (path: string, body?: object) => {
      const data = body ? ["--header", "content-type: application/json", "--data", JSON.stringify(body)] : [];
      const options = [
        "--silent",
        "--show-error",
        "--fail",
        "--cacert",
        join(project, "tls/certificate.pem"),
      ];
      const headers = ["--header", `authorization: Bearer ${apiKey}`];
      const address = `https://localhost:4000/api/v1${path}`;
      return (await engine.run(["curl", ...options, ...headers, ...data, address])).stdout;
    };
    await vi.waitFor(() => call("/agent/runs"), waitOptions);

    const variables = [
      "NODE_EXTRA_CA_CERTS=/etc/outrider/tls/certificate.pem",
      "OUTRIDER_BASE_URL=https://localhost:4000/api/v1",
      `OUTRIDER_API_KEY=${apiKey}`,
    ].flatMap((variable) => ["--env", variable]);
    const create = ["outrider", "key", "create", "compose", "--type", "worker"];
    settings.push(
      `OUTRIDER_WORKER_KEY=${(await compose("exec", "-T", ...variables, "server", ...create)).trim()}`,
    );
    writeFileSync(join(project, ".env"), `${settings.join("\n")}\n`);
    await compose("up", "--detach");
    const prompt = "RUN: echo from compose > file.txt; cat file.txt\nSAY: done";
    const { run_id } = JSON.parse(await call("/agent/run", { prompt }));
    const waitForRun = () =>
      vi.waitFor(
        async () =>
          expect(JSON.parse(await call(`/agent/runs/${run_id}`))).toMatchObject({ state: "SUCCEEDED" }),
        waitOptions,
      );
    await waitForRun();

    // The worker enforces every limit of its sandboxes in its container.
    const report = await compose("exec", "-T", "worker", "outrider", "doctor");
    for (const control of ["sandbox", "memory", "cpus", "pids", "disk", "network", "seccomp"])
      expect(report).toMatch(new RegExp(`^ok +${control} `, "m"));

    // A blob is named after its content.
    const diff = await call(`/agent/runs/${run_id}/diff`);
    expect(diff).toContain("+from compose");
    const hash = createHash("sha256").update(diff).digest("hex");
    const object = `/data/outrider/files/${hash.slice(0, 2)}/${hash}`;
    expect(await compose("exec", "-T", "s3", "cat", object)).toBe(diff);

    await compose("restart", "server");
    await waitForRun();
    expect(await call(`/agent/runs/${run_id}/diff`)).toBe(diff);
    const { run_id: next } = JSON.parse(await call("/agent/run", { prompt: "SAY: after the restart" }));
    await vi.waitFor(
      async () => expect(JSON.parse(await call(`/agent/runs/${next}`))).toMatchObject({ state: "SUCCEEDED" }),
      waitOptions,
    );

    await compose("down", "--volumes");
    expect(await engine.docker("ps", "--all", "--quiet")).toBe("");
    expect(await engine.docker("volume", "ls", "--quiet")).toBe("");
    expect(await engine.docker("network", "ls", "--quiet", "--filter", "type=custom")).toBe("");
  },
  2 * testTimeout,
);

test(
  "systemd starts the units of the bundle",
  async () => {
    const { docker } = engine;
    const writable = ["/run", "/run/lock", "/tmp"].flatMap((path) => ["--tmpfs", path]);
    const volumes = ["--volume", `${release}:/release:ro`, "--volume", "/var/lib/outrider-worker"];
    const options = [
      "--privileged",
      "--cgroupns",
      "private",
      "--env",
      "container=docker",
      "--network",
      "none",
    ];
    const init = [base, "/sbin/init"];
    await docker("run", "--detach", "--name", "machine", ...options, ...writable, ...volumes, ...init);
    const machine = (command: string) =>
      docker("exec", "--env", "HOME=/root", "machine", "sh", "-c", command);
    await vi.waitFor(() => machine("systemctl is-system-running"), waitOptions);

    const name = bundleName(checkout);
    await machine(`cd /root && tar xzf /release/${name}.tar.gz && ${name}/install.sh install`);
    await vi.waitFor(() => machine("outrider login --key-stdin < /var/lib/outrider-server/key"), waitOptions);
    await machine(
      'key=$(outrider key create machine --type worker) && echo "OUTRIDER_WORKER_KEY=$key" >> /etc/outrider/worker.env',
    );
    await machine("systemctl enable --now outrider-worker");
    expect(await machine("outrider run 'RUN: echo from systemd; id -u' --follow")).toMatch(
      /from systemd\s+1000/,
    );
    const pid = "$(systemctl show --property MainPID --value outrider-server)";
    const status = await machine(`cat /proc/${pid}/status`);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);

    await machine(`kill -KILL ${pid}`);
    const run = "outrider run 'RUN: echo after a crash' --follow";
    await vi.waitFor(async () => expect(await machine(run)).toContain("  after a crash"), waitOptions);
    await machine("systemctl stop outrider-worker outrider-server");
    expect(await machine("systemctl list-units --failed --plain --no-legend")).toBe("");
    expect(await machine("ps -e -o args= | grep -E '[/]opt/outrider' || true")).toBe("");
    await docker("rm", "--force", "--volumes", "machine");
  },
  2 * testTimeout,
);

test("the containers leave nothing on the machine", async () => {
  // The namespaces end with the daemon, and with them all processes and mounts.
  await engine.stop();
  stopped = true;
  expect(globSync(`/sys/fs/cgroup/{,*/}${engine.cgroup}`)).toEqual([]);
  expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(folder);
  const processes = globSync("/proc/[0-9]*/cmdline").filter((file) => {
    try {
      return file !== `/proc/${process.pid}/cmdline` && readFileSync(file, "utf8").includes(folder);
    } catch {
      return false; // The process has ended.
    }
  });
  expect(processes).toEqual([]);
});
