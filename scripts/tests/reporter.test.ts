import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..", "..");
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Runs vitest over made-up files. Returns its exit code and the last line of its output. */
function run(files: Record<string, string>, settings = "") {
  const folder = mkdtempSync(join(tmpdir(), "outrider-reporter-"));
  folders.push(folder);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const config = `import { SummaryReporter } from ${JSON.stringify(join(root, "scripts/tests/reporter.ts"))};
    export default { test: { globals: true, cache: false, reporters: ["default", new SummaryReporter()], ${settings} } };`;
  for (const [name, text] of Object.entries({ "vitest.config.ts": config, ...files })) {
    writeFileSync(join(folder, name), text);
  }
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const { status, stdout } = spawnSync(process.execPath, [vitest, "run"], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, OUTRIDER_TEST_RESULTS: "" },
  });
  return { status, last: stdout.trimEnd().split("\n").at(-1) };
}

describe("the last line of a test run", () => {
  it("counts passed and skipped tests", () => {
    const files = {
      "a.test.ts": `it("a", () => {}); describe("d", () => { it("b", () => {}); it.skip("c"); });`,
    };
    expect(run(files)).toEqual({ status: 0, last: "2 passed, 0 failed, 1 skipped" });
  });

  it("counts failures of tests, files and hooks, and unhandled errors", () => {
    const files = {
      "test.test.ts": `it("a", () => {}); it("b", () => { throw new Error("b"); });`,
      "file.test.ts": `throw new Error("this file cannot be read");`,
      "hook.test.ts": `describe("d", () => { beforeAll(() => { throw new Error("hook"); }); it("c", () => {}); });`,
      "stray.test.ts": `it("d", async () => { Promise.reject(new Error("stray")); await new Promise(setImmediate); });`,
    };
    expect(run(files)).toEqual({ status: 1, last: "2 passed, 4 failed, 1 skipped" });
  });

  it("comes after the output of a teardown", () => {
    const files = {
      "a.test.ts": `it("a", () => {});`,
      "global.ts": `export const teardown = () => console.log("stopping the database");`,
    };
    expect(run(files, `globalSetup: "global.ts"`)).toEqual({ status: 0, last: "1 passed, 0 failed" });
  });

  it.each(["setup", "teardown"])("counts a broken global %s as a failure", (phase) => {
    const files = {
      "a.test.ts": `it("a", () => {});`,
      "global.ts": `export const ${phase} = () => { throw new Error("no database"); };`,
    };
    const passed = phase === "setup" ? 0 : 1;
    expect(run(files, `globalSetup: "global.ts"`)).toEqual({ status: 1, last: `${passed} passed, 1 failed` });
  });

  it("counts a run without tests as a failure", () => {
    expect(run({})).toEqual({ status: 1, last: "0 passed, 1 failed" });
  });
});
