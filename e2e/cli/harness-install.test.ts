import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type StubNpmRegistry,
  startStubNpmRegistry,
} from "../../packages/worker/test/harnesses/stub-npm-registry.ts";
import { outrider } from "../process.ts";

let registry: StubNpmRegistry;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "outrider-harness-"));
  registry = await startStubNpmRegistry();
  for (const version of ["1.0.0", "1.0.1"]) registry.publish({ manifest: { name: "tiny-agent", version } });
  const tiny = { command: ["tiny"], wire_formats: ["gemini"], packages: { "tiny-agent": "1.0.0" } };
  writeFileSync(join(folder, "harnesses.json"), JSON.stringify({ harnesses: { tiny } }));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await registry.close();
});

const install = (...args: string[]) =>
  outrider(["harness", "install", ...args], {
    ...{ NPM_CONFIG_REGISTRY: registry.url, NPM_CONFIG_FETCH_RETRIES: "0", OUTRIDER_DATA_DIR: folder },
  });

test("installs the operator's versions for the workers of this machine", async () => {
  const { code, stderr } = await install("tiny");
  expect(stderr).toContain("tiny: 1.0.0 is installed (");
  expect(code).toBe(0);
  expect(readdirSync(join(folder, "harnesses/tiny")).some((name) => name.endsWith(".json"))).toBe(true);
  expect(registry.downloads).toEqual(["tiny-agent/-/1.0.0.tgz"]);
  expect(await install("tiny", "--quiet")).toMatchObject({ code: 0, stderr: "" });
  expect(registry.downloads).toHaveLength(1);
});

test("fills a folder for machines without access to packages", async () => {
  const target = join(folder, "offline");
  const { code, stderr } = await install("tiny", "--package", "tiny-agent@1.0.1", "--folder", target);
  expect(stderr).toContain("tiny: 1.0.1 is installed (");
  expect(code).toBe(0);
  expect(existsSync(join(target, "tiny"))).toBe(true);
  const doctor = await outrider(["doctor", "--for", "worker"], { OUTRIDER_HARNESS_FOLDER: target });
  expect(doctor.stdout).toMatch(
    /^-- {2}agents .*not available: claude .*\(OUTRIDER_HARNESS_FOLDER does not contain it\): see docs/m,
  );
});

test("reports each agent that cannot be installed, and exits with 1", async () => {
  const { code, stderr } = await install("nope", "tiny", "--quiet");
  expect(code).toBe(1);
  expect(stderr).toBe("nope: Outrider does not know which packages nope consists of.\n");
  expect(await install("tiny", "--package", "tiny-agent")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--package must be name@version, not "tiny-agent".'),
  });
});

test("doctor says which agents are installed on first use", async () => {
  const { stdout } = await outrider(["doctor", "--for", "worker"], { OUTRIDER_DATA_DIR: folder });
  expect(stdout).toMatch(/^ok {2}agents .*installed on first use: claude 2\.\S+, codex /m);
});
