import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { startTestInstallation, type TestInstallation } from "../../worker/test/installation.ts";

const run = promisify(execFile);
const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

let installation: TestInstallation;
let folder: string;

beforeAll(async () => {
  installation = await startTestInstallation();
  await installation.worker();
  // Run inside the package, so that its name resolves to the workspace.
  folder = mkdtempSync(join(import.meta.dirname, ".readme-"));
});
afterAll(async () => {
  await installation?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("the code in the README runs and type-checks", async () => {
  const blocks = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code as string);
  expect(blocks.length).toBeGreaterThan(5);
  const file = join(folder, "readme.mts");
  writeFileSync(file, blocks.join("\n"));
  const env = {
    PATH: process.env.PATH,
    OUTRIDER_API_KEY: installation.key,
    OUTRIDER_BASE_URL: `${installation.origin}/api/v1`,
  };
  const { stdout } = await run("node", [file], { env, timeout: waitOptions.timeout });
  const lines = stdout.split("\n").filter((line) => line !== "");
  expect(lines.slice(0, 4)).toEqual(["SUCCEEDED", "working", "done", "2"]);
  expect(lines).toContainEqual(expect.stringMatching(/^404 resource_not_found \w+/));
  expect(lines).toContainEqual(expect.stringMatching(/^Admin application\/json/));
  expect(lines.at(-1)).toBe("scripted");
  const flags = "--noEmit --strict --module nodenext --target es2022 --lib es2024,dom,dom.asynciterable";
  const more = "--allowImportingTsExtensions --skipLibCheck --types node";
  const compiling = run("tsc", [...`${flags} ${more}`.split(" "), "--ignoreConfig", file]);
  await expect(compiling).resolves.toMatchObject({ stdout: "" });
});
