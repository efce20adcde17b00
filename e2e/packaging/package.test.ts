import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { readCheckout } from "../../scripts/release/checkout.ts";
import { compile } from "../../scripts/release/compile.ts";
import { stagePackage } from "../../scripts/release/stage.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { call, keyOf, makeDataDir, type Running, removeDataDir, root, run } from "../process.ts";

/**
 * The npm package with the dependencies of the checkout. npm.full.test.ts installs the whole package with npm.
 */

const checkout = readCheckout(root);
const folder = mkdtempSync(join(tmpdir(), "outrider-package-"));
const home = join(folder, "node_modules/outrider");
const dataDir = makeDataDir();
let server: Running | undefined;

beforeAll(() => {
  stagePackage(checkout, home, { modules: false });
  for (const modules of globSync(["node_modules", "packages/*/node_modules"], { cwd: root }))
    if (existsSync(join(home, modules, ".."))) symlinkSync(join(root, modules), join(home, modules));
});
afterAll(async () => {
  await server?.end("SIGTERM");
  removeDataDir(dataDir);
  rmSync(folder, { recursive: true, force: true });
});

test("the package runs inside node_modules, where Node accepts no TypeScript", async () => {
  server = run(
    ["serve", "--port", "0", "--data-dir", dataDir],
    { OUTRIDER_LOG_FORMAT: "json" },
    join(home, "bin/outrider.js"),
  );
  await server.waitForOutput("  workers ");
  const origin = /Outrider is listening on (http:\S+)/.exec(server.stderr())?.[1];
  const key = keyOf(dataDir);
  const prompt = "RUN: echo from a package > file.txt; cat file.txt\nSAY: done";
  const { body } = await call("POST", `${origin}/api/v1/agent/run`, { key, body: { prompt } });
  await vi.waitFor(async () => {
    const found = await call("GET", `${origin}/api/v1/agent/runs/${body.run_id}`, { key });
    expect(found.body).toMatchObject({ state: "SUCCEEDED" });
  }, waitOptions);
  const transcript = await call("GET", `${origin}/runs/${body.run_id}`, { key });
  expect(transcript.text).toContain("from a package");
  // The web app, the reference page and the description of the API are files of the package.
  expect((await call("GET", `${origin}/login`)).text).toContain('<div id="app">');
  expect((await call("GET", `${origin}/docs`)).status).toBe(200);
  expect((await call("GET", `${origin}/api/v1/openapi.json`)).body.info).toBeDefined();
});

test("imports of other workspaces and paths of programs lead to compiled files", () => {
  const source = [
    'import type { A } from "./a.ts";',
    'import { runs } from "@outrider/contract/routes/runs";',
    'import { b } from "../b.ts";',
    'const url = new URL("./program.ts", import.meta.url) as URL;',
    'await import("./later.ts");',
  ].join("\n");
  const lines = compile(source, "packages/server/src/engine/x.ts", root).split("\n");
  expect(lines.map((line) => line.trim())).toEqual([
    "",
    'import { runs } from "../../../contract/src/routes/runs.js";',
    'import { b } from "../b.js";',
    expect.stringContaining('new URL("./program.js", import.meta.url)'),
    'await import("./later.js");',
  ]);
});

test("a source file that is named in an unknown way is an error", () => {
  expect(() => compile('start("main.ts");', "packages/cli/src/x.ts", root)).toThrow("main.ts");
});

test("compose.yaml names the images of this version", () => {
  const file = readFileSync(join(root, "packaging/compose.yaml"), "utf8");
  const versions = [...file.matchAll(/OUTRIDER_VERSION:-([^}]*)\}/g)].map(([, version]) => version);
  expect(versions).toEqual([checkout.version, checkout.version]);
});

test("the Helm chart has this version, and names the images of compose.yaml", () => {
  const read = (name: string) => parse(readFileSync(join(root, "packaging", name), "utf8"));
  const { version, appVersion } = read("helm/outrider/Chart.yaml");
  expect([version, appVersion]).toEqual([checkout.version, checkout.version]);
  const { postgresql, storage } = read("helm/outrider/values.yaml");
  const { postgres, s3 } = read("compose.yaml").services;
  const images = [postgresql, storage].map(({ bundled: { image } }) => `${image.repository}:${image.tag}`);
  expect(images).toEqual([postgres.image, s3.image]);
});
