import { execFileSync } from "node:child_process";
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleName } from "../../scripts/release/bundle.ts";
import { readCheckout } from "../../scripts/release/checkout.ts";
import { makeRelease } from "../../scripts/release/main.ts";
import { testTimeout } from "../../scripts/tests/wait-options.ts";
import { type Running, root } from "../process.ts";
import { type Isolated, openIsolated } from "./isolated.ts";

/**
 * Makes a release, and installs, upgrades and rolls back its offline bundle in namespaces without a network. The folders of
 * the system that change are overlays, so this machine stays as it is. Needs root and iproute2.
 */

const checkout = readCheckout(root);
const folder = mkdtempSync(join(tmpdir(), "outrider-bundle-test-"));
const first = join(folder, "first");
const environment = { PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", HOME: folder };
const serverData = "/var/lib/outrider-server";
let isolated: Isolated;
let server: Running | undefined;
let worker: Running | undefined;

beforeAll(async () => {
  execFileSync("chmod", ["711", folder]);
  const overlays = ["/etc", "/opt", "/usr/local", "/var/lib"].map((path) => {
    const [upper, work] = ["upper", "work"].map((kind) => join(folder, kind, path));
    return `mkdir -p ${upper} ${work} && mount -t overlay overlay -o lowerdir=${path},upperdir=${upper},workdir=${work} ${path}`;
  });
  // Sandboxes are overlays, which cannot be inside an overlay.
  const workerData = `mkdir -p ${folder}/worker /var/lib/outrider-worker && mount --bind ${folder}/worker /var/lib/outrider-worker`;
  isolated = await openIsolated([...overlays, workerData].join("\n"));
});
afterAll(async () => {
  await worker?.end("SIGTERM");
  await server?.end("SIGTERM");
  await isolated?.close();
  rmSync(folder, { recursive: true, force: true });
});

const install = async (bundle: string, command: string) =>
  (await isolated.run([join(bundle, "install.sh"), command], { environment })).stdout;
const installed = async (...args: string[]) =>
  (await isolated.run(["outrider", ...args], { environment })).stdout;

/** Starts the server as its systemd unit does. */
async function startServer(): Promise<void> {
  const user = ["setpriv", "--reuid", "outrider", "--regid", "outrider", "--init-groups"];
  server = isolated.start([...user, "/opt/outrider/current/bin/outrider", "serve"], {
    environment: { ...environment, OUTRIDER_DATA_DIR: serverData, OUTRIDER_WORKERS: "0" },
  });
  await server.waitForOutput("  workers ");
}

async function startWorker(key: string): Promise<void> {
  worker = isolated.start(
    ["/opt/outrider/current/bin/outrider", "worker", "--data-dir", "/var/lib/outrider-worker"],
    { environment: { ...environment, OUTRIDER_WORKER_KEY: key } },
  );
  await worker.waitForOutput("ready for runs");
}

/** Creates a copy of the bundle with another version and another migration. */
function makeNext(version: string, sql: string): string {
  const bundle = join(folder, version);
  cpSync(first, bundle, { recursive: true, verbatimSymlinks: true });
  writeFileSync(join(bundle, "VERSION"), `${version}\n`);
  for (const file of globSync(join(bundle, "lib/packages/*/package.json")))
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), version }));
  writeFileSync(join(bundle, "lib/packages/server/src/store/migrations/9999_next.sql"), sql);
  return bundle;
}

test(
  "a release has packages, notes, a bill of materials and checksums",
  () => {
    const release = join(folder, "release");
    makeRelease(checkout, release);
    expect(
      execFileSync("sha256sum", ["--check", "SHA256SUMS"], { cwd: release, encoding: "utf8" }),
    ).toContain("OK");
    const sbom = JSON.parse(readFileSync(join(release, `outrider-${checkout.version}.cdx.json`), "utf8"));
    const names = sbom.components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["fastify", "react", "node"]));
    expect(names).not.toContain("vitest");
    mkdirSync(first);
    const archive = join(release, `${bundleName(checkout)}.tar.gz`);
    execFileSync("tar", ["xzf", archive, "-C", first, "--strip-components=1"]);
    expect(readdirSync(join(first, "containers"))).toEqual([
      ...["compose.yaml", "server.Dockerfile", "worker.Dockerfile"],
    ]);
    expect(readdirSync(join(first, "helm/outrider"))).toContain("Chart.yaml");
  },
  2 * testTimeout,
);

test("the bundle installs without a network, and the service executes a run", async () => {
  await expect(install(first, "upgrade")).rejects.toThrow("no version is installed");
  expect(await install(first, "install")).toContain(`version ${checkout.version} is installed`);
  await startServer();
  await isolated.run(["sh", "-c", `outrider login --key-stdin < ${serverData}/key`], { environment });
  await startWorker((await installed("key", "create", "machine", "--type", "worker")).trim());
  expect(await installed("run", "RUN: echo from the bundle\nSAY: done", "--follow")).toContain(
    "from the bundle",
  );
  await expect(install(first, "install")).rejects.toThrow("is installed");
});

test("systemd accepts the installed units, and a misspelled setting is found", async () => {
  const units = ["outrider-server", "outrider-worker"].map((name) => `/etc/systemd/system/${name}.service`);
  const verify = (...files: string[]) =>
    isolated.run(["systemd-analyze", "verify", ...files], { environment });
  expect(await verify(...units)).toEqual({ stdout: "", stderr: "" });
  for (const unit of units) {
    const misspelled = join(folder, basename(unit));
    await isolated.run(["sh", "-c", `sed s/^ProtectHome/ProtectHom/ ${unit} > ${misspelled}`], {
      environment,
    });
    // Some versions print the problem and exit with 0.
    const { stderr } = await verify(misspelled).catch((error) => error);
    expect(stderr).toContain("'ProtectHom'");
  }
});

test("a failed migration keeps the version in use", async () => {
  const broken = makeNext("0.1.1-broken", "select no_such_function();");
  await expect(install(broken, "upgrade")).rejects.toThrow("stays in use");
  expect(await installed("--version")).toBe(`${checkout.version}\n`);
  expect(await installed("runs", "list")).toContain("SUCCEEDED");
});

test("an upgrade migrates while the server runs, then switches, and a rollback returns", async () => {
  const key = (await installed("key", "create", "machine", "--type", "worker")).trim();
  const restart = async () => {
    await worker?.end("SIGTERM");
    await server?.end("SIGTERM");
    await startServer();
    await startWorker(key);
  };
  const next = makeNext("0.1.1", "create table next_version ();");
  expect(await install(next, "upgrade")).toContain("9999_next.sql");
  expect(await installed("--version")).toBe("0.1.1\n");
  await restart();
  expect(await installed("run", "SAY: after the upgrade", "--follow")).toContain("after the upgrade");

  expect(await install("/opt/outrider/current", "rollback")).toContain(
    `version ${checkout.version} is in use`,
  );
  expect(await installed("--version")).toBe(`${checkout.version}\n`);
  await restart();
  expect(await installed("run", "SAY: after the rollback", "--follow")).toContain("after the rollback");
  // Runs of both versions are still there.
  const { runs } = JSON.parse(await installed("runs", "list", "--json"));
  expect(runs).toHaveLength(3);
});
