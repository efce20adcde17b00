import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readCheckout } from "../../scripts/release/checkout.ts";
import { packNpm } from "../../scripts/release/pack.ts";
import { expectNothingOn, keyOf, makeDataDir, type Running, removeDataDir, root } from "../process.ts";
import { type Isolated, openIsolated } from "./isolated.ts";

/** Installs the npm package and executes a first run without any network. Needs root and iproute2. */

const folder = mkdtempSync(join(tmpdir(), "outrider-npm-test-"));
const dataDir = makeDataDir();
const app = join(folder, "app");
const environment = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin:/usr/sbin:/sbin`, HOME: folder };
let isolated: Isolated;
let server: Running | undefined;

beforeAll(async () => {
  chmodSync(folder, 0o711);
  mkdirSync(app);
  isolated = await openIsolated();
});
afterAll(async () => {
  await server?.end("SIGINT");
  await isolated?.close();
  removeDataDir(dataDir);
  rmSync(folder, { recursive: true, force: true });
});

test("npm installs the package without a registry, and npx starts a service that executes runs", async () => {
  const tarball = packNpm(readCheckout(root), folder);
  const npm = join(root, ".tools/node_modules/npm/bin/npm-cli.js");
  const npx = join(root, ".tools/node_modules/npm/bin/npx-cli.js");
  const options = { environment, cwd: app };
  const flags = ["--offline", "--no-audit", "--no-fund", "--cache", join(folder, "cache")];
  await isolated.run([process.execPath, npm, "install", ...flags, tarball], options);

  const serve = ["outrider", "serve", "--port", "4000", "--data-dir", dataDir];
  server = isolated.start([process.execPath, npx, "--offline", ...serve], options);
  await server.waitForOutput("  workers ");
  const client = { environment: { ...environment, OUTRIDER_API_KEY: keyOf(dataDir) }, cwd: app };
  const prompt = "RUN: echo from npm\nSAY: done";
  const { stdout } = await isolated.run(["node_modules/.bin/outrider", "run", prompt, "--follow"], client);
  expect(stdout).toContain("from npm");
  expect(stdout).toContain("done");

  // npx passes the signal on to a shell only. A terminal sends it to all of them.
  await server.end("SIGINT");
  await expectNothingOn(dataDir);
});
