import { execFile } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import {
  HarnessInstaller,
  type HarnessInstallerOptions,
} from "../../src/harnesses/install/harness-installer.ts";
import type { InstallOptions } from "../../src/harnesses/install/installed-harness.ts";
import { npmNetwork } from "../../src/harnesses/install/npm.ts";
import { pinnedHarnessNames, readPinnedLock } from "../../src/harnesses/install/pinned-harnesses.ts";
import { storeRuntime } from "../../src/harnesses/install/runtime-bundle.ts";
import { type StubNpmRegistry, startStubNpmRegistry } from "./stub-npm-registry.ts";

let registry: StubNpmRegistry;
let folder: string;
/** All tests share the copy of Node, which is large. */
let runtime: string;
beforeAll(async () => {
  registry = await startStubNpmRegistry();
  runtime = mkdtempSync(join(tmpdir(), "outrider-runtime-"));
});
afterAll(async () => {
  rmSync(runtime, { recursive: true });
  await registry.close();
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "outrider-install-"));
  for (const name of ["cache", "other"]) {
    mkdirSync(join(folder, name));
    symlinkSync(runtime, join(folder, name, ".runtime"));
  }
  registry.intercept = undefined;
  registry.downloads.length = 0;
  publish();
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Programs of agents are single files of several megabytes. */
const script = "console.log('tiny');\n".repeat(200_000);

function publish({ text = "one" } = {}) {
  const agent = { name: "tiny-agent", version: "1.2.3", bin: { tiny: "cli.js" } };
  registry.publish({
    manifest: {
      ...agent,
      dependencies: { "@tiny/part": "^1.0.0" },
      // The registry does not have programs for other systems.
      optionalDependencies: { "tiny-other-system": "1.2.3" },
      devDependencies: { "tiny-dev": "1.0.0" },
      scripts: { postinstall: "touch installed-by-script" },
    },
    files: { "cli.js": `#!/usr/bin/env node\n${script}` },
  });
  registry.publish({ manifest: { name: "@tiny/part", version: "1.0.0" }, files: { text } });
}

const packages = { "tiny-agent": "1.2.3" };
const newInstaller = (options: Partial<HarnessInstallerOptions> = {}) =>
  new HarnessInstaller({
    cache: join(folder, "cache"),
    environment: {
      PATH: process.env.PATH ?? "",
      HOME: join(folder, "home"),
      NPM_CONFIG_REGISTRY: registry.url,
      NPM_CONFIG_FETCH_RETRIES: "0",
    },
    ...options,
  });
const install = (installer = newInstaller(), options: Partial<InstallOptions> = {}) =>
  installer.install("tiny", { packages, signal: new AbortController().signal, ...options });

describe("an agent", () => {
  test("is installed once, without its scripts, readable for every user", async () => {
    const umask = process.umask(0o077);
    const installed = await install().finally(() => process.umask(umask));
    const [bundle, runtime] = installed.bundles;
    expect(installed).toMatchObject({
      ...{ name: "tiny", version: "1.2.3", packages, node: "/opt/outrider/lib/node" },
      packagesPath: "/opt/outrider/agent/node_modules",
    });
    expect([bundle?.target, runtime?.target]).toEqual(["/opt/outrider/agent", "/opt/outrider/lib"]);
    const modules = join(bundle?.folder ?? "", "node_modules");
    expect(readFileSync(join(modules, "@tiny/part/text"), "utf8")).toBe("one");
    expect(existsSync(join(modules, "tiny-agent/installed-by-script"))).toBe(false);
    const program = realpathSync(join(modules, ".bin/tiny"));
    expect(readFileSync(program, "utf8") === `#!/opt/outrider/lib/node\n${script}`).toBe(true);
    const modes = [modules, program, join(modules, "tiny-agent/package.json")].map(
      (path) => statSync(path).mode & 0o055,
    );
    expect(modes).toEqual([0o055, 0o055, 0o044]);
    expect(readdirSync(bundle?.folder ?? "").sort()).toEqual([
      "node_modules",
      "package-lock.json",
      "package.json",
    ]);
    expect(registry.downloads).toEqual(expect.arrayContaining(["tiny-agent/-/1.2.3.tgz"]));
    expect(registry.downloads).toHaveLength(2);
    expect(await install()).toEqual(installed);
    expect(registry.downloads).toHaveLength(2);
  });

  test("is installed by one process at a time", async () => {
    const steps: string[] = [];
    const results = await Promise.all(
      [1, 2, 3].map(() => install(newInstaller(), { onProgress: ({ step }) => steps.push(step) })),
    );
    expect(new Set(results.map(({ bundles }) => bundles[0]?.id)).size).toBe(1);
    expect(registry.downloads).toHaveLength(2);
    expect(steps.filter((step) => step === "checking")).toHaveLength(1);
  });

  test("comes from the registry in the operator's .npmrc, through the worker's upstream proxy", async () => {
    const home = join(folder, "home");
    mkdirSync(home);
    writeFileSync(join(home, ".npmrc"), "registry=http://registry.invalid/\n");
    const network = npmNetwork({ upstreamProxy: registry.url, noProxy: "other.invalid" }, undefined);
    registry.hosts.clear();
    await install(newInstaller({ environment: { PATH: process.env.PATH ?? "", HOME: home, ...network } }));
    expect([...registry.hosts]).toContain("registry.invalid");
    expect(registry.downloads).toHaveLength(2);
  });

  test("with the operator's versions keeps the hashes of its first installation", async () => {
    const { bundles } = await install();
    const [bundle] = bundles;
    const key = bundle?.folder.split("/").at(-1);
    // A worker that has lost the files installs them again.
    rmSync(bundle?.folder ?? "", { recursive: true });
    rmSync(`${bundle?.folder}.json`);
    publish({ text: "two" });
    const error = await install().catch((error) => error);
    expect(error).toMatchObject({ code: "harness_failed", message: expect.stringContaining("EINTEGRITY") });
    expect(error.message).toContain("Check the npm registry and the proxy");
    const left = readdirSync(join(folder, "cache/tiny"));
    expect(left.sort()).toEqual([`${key}.lock`, `${key}.packages.json`]);
    publish();
    expect((await install()).bundles).toEqual(bundles);
  });

  test("whose download is damaged is not installed", async () => {
    registry.intercept = ({ url }, response) => {
      if (!url?.endsWith(".tgz")) return false;
      response.end(Buffer.from("damaged"));
      return true;
    };
    await expect(install()).rejects.toThrow(
      /npm failed with EINTEGRITY.*Check the npm registry and the proxy/s,
    );
    expect(readdirSync(join(folder, "cache/tiny")).filter((name) => !name.endsWith(".lock"))).toEqual([]);
  });

  test("that the registry does not have is an error with a remedy", async () => {
    const missing = install(newInstaller(), { packages: { "tiny-agent": "9.9.9" } });
    await expect(missing).rejects.toThrow(/tiny-agent 9\.9\.9.*ETARGET.*Check that the npm registry/s);
  });

  test("is an error with a remedy if the registry cannot be reached", async () => {
    const environment = {
      PATH: process.env.PATH ?? "",
      NPM_CONFIG_REGISTRY: "http://user:hunter2@127.0.0.1:1",
    };
    const error = await install(
      newInstaller({ environment: { ...environment, NPM_CONFIG_FETCH_RETRIES: "0" } }),
    ).catch((error) => error);
    expect(error.message).toMatch(/ECONNREFUSED.*npm's configuration.*OUTRIDER_HARNESS_FOLDER/s);
    expect(error.message).not.toContain("hunter2");
  });

  test("is an error with a remedy without npm", async () => {
    // The Node of a checkout has an npm beside it.
    const node = join(folder, "node");
    copyFileSync(process.execPath, node);
    const module = new URL("../../src/harnesses/install/harness-installer.ts", import.meta.url);
    const script = `
      import { HarnessInstaller } from "${module}";
      const installer = new HarnessInstaller({ cache: "${folder}/cache", environment: { PATH: "/nonexistent" } });
      const { signal } = new AbortController();
      console.log((await installer.list())[0].problem);
      await installer.install("tiny", { packages: ${JSON.stringify(packages)}, signal })
        .catch(({ message }) => console.log(message));`;
    const { stdout } = await promisify(execFile)(node, ["--input-type=module", "-e", script]);
    expect(stdout).toMatch(
      /^npm, which installs it, is not on PATH\n.*npm is not on the worker's PATH\. Install/,
    );
  });

  test("that needs too much space or time is not installed", async () => {
    registry.intercept = ({ url }) => url?.endsWith(".tgz") ?? false; // never responds
    await expect(install(newInstaller({ timeoutMs: 3_000 }))).rejects.toThrow(
      /npm was stopped, because it took/,
    );
    await expect(install(newInstaller({ maxBytes: 1 }))).rejects.toThrow(
      /npm was stopped, because the packages need more than 0 MB/,
    );
    const controller = new AbortController();
    const aborted = install(newInstaller(), { signal: controller.signal });
    await vi.waitUntil(() => registry.intercept && existsSync(join(folder, "cache/tiny")), waitOptions);
    controller.abort(new Error("cancelled"));
    await expect(aborted).rejects.toThrow("cancelled");
  });

  test("is removed when it has not been used for a week", async () => {
    const { bundles } = await install();
    const old = bundles[0]?.folder ?? "";
    registry.publish({ manifest: { name: "tiny-agent", version: "1.2.4" } });
    const newer = { packages: { "tiny-agent": "1.2.4" } };
    await install(newInstaller(), newer);
    expect(existsSync(old)).toBe(true);
    const weekAgo = Date.now() / 1_000 - 8 * 86_400;
    utimesSync(`${old}.lock`, weekAgo, weekAgo);
    registry.publish({ manifest: { name: "tiny-agent", version: "1.2.5" } });
    await install(newInstaller(), { packages: { "tiny-agent": "1.2.5" } });
    expect([existsSync(old), existsSync(`${old}.json`)]).toEqual([false, false]);
    expect(readdirSync(join(folder, "cache/tiny")).filter((name) => /^[0-9a-f]+$/.test(name))).toHaveLength(
      2,
    );
  });

  test("must have exact versions of packages", async () => {
    for (const version of ["^1.0.0", "latest", "file:/etc", "git+ssh://host/x", "--registry=http://x"])
      await expect(install(newInstaller(), { packages: { "tiny-agent": version } })).rejects.toThrow(
        "the version of tiny-agent must be exact",
      );
    for (const name of ["../x", "--global", "a b", "http://x/y"])
      await expect(install(newInstaller(), { packages: { [name]: "1.0.0" } })).rejects.toThrow(
        "must be exact",
      );
    await expect(
      newInstaller().install("../x", { packages, signal: new AbortController().signal }),
    ).rejects.toThrow("its name must consist of");
  });
});

describe("the folder of an offline installation", () => {
  const offline = () =>
    newInstaller({ cache: join(folder, "other"), folder: join(folder, "copy"), environment: {} });

  test("is used after its files are verified", async () => {
    const { bundles } = await install();
    cpSync(join(folder, "cache"), join(folder, "copy"), { recursive: true, verbatimSymlinks: true });
    const installer = offline();
    const installed = await install(installer);
    expect(installed.bundles[0]).toMatchObject({ id: bundles[0]?.id });
    expect(installed.bundles[0]?.folder.startsWith(join(folder, "copy/tiny/"))).toBe(true);
    expect(registry.downloads).toHaveLength(2);
    appendFileSync(join(installed.bundles[0]?.folder ?? "", "node_modules/@tiny/part/text"), "!");
    await expect(install(offline())).rejects.toThrow(/have changed since they were installed/);
  });

  test("that lacks an agent is an error that says how to fill it", async () => {
    await expect(install(offline())).rejects.toThrow(
      /does not contain tiny \(tiny-agent 1\.2\.3 for linux-.*outrider harness install tiny --folder/,
    );
    const listed = await offline().list();
    expect(listed[0]).toMatchObject({
      installed: false,
      problem: expect.stringContaining("does not contain"),
    });
  });
});

test("a copy of Node that has not been used for a week is removed with the next one", async () => {
  const parent = join(folder, "runtimes");
  const { signal } = new AbortController();
  mkdirSync(join(parent, "0".repeat(32)), { recursive: true });
  const record = join(parent, `${"0".repeat(32)}.sha256`);
  writeFileSync(record, "x");
  const weekAgo = Date.now() / 1_000 - 8 * 86_400;
  utimesSync(record, weekAgo, weekAgo);
  const bundle = await storeRuntime(parent, signal);
  const files = readdirSync(parent).filter((name) => name !== "lock");
  expect(files.sort()).toEqual([basename(bundle.folder), `${basename(bundle.folder)}.sha256`]);
  expect(readdirSync(bundle.folder)).toEqual(expect.arrayContaining(["ld.so", "libc.so.6", "node"]));
  expect(await storeRuntime(parent, signal)).toEqual(bundle);
});

test("every pinned agent has a lock file with hashes and without addresses", () => {
  for (const name of pinnedHarnessNames) {
    const { packages } = JSON.parse(readPinnedLock(name));
    for (const [path, entry] of Object.entries<Record<string, unknown>>(packages)) {
      if (path === "") continue;
      expect({ path, ...entry }).toMatchObject({ integrity: expect.stringMatching(/^sha512-/) });
      expect(entry).not.toHaveProperty("resolved");
    }
  }
});
