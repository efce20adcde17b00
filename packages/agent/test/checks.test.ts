import type { EnvironmentCheck } from "@outrider/contract/environment";
import { describe, expect, it } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { newFindings } from "../src/checks/findings.ts";
import { matchesGlob } from "../src/checks/path-glob.ts";
import { newRun } from "./run.ts";

/** Prints each line with a TODO and its number, like a linter. */
const linter = (files: string): EnvironmentCheck => ({
  name: "lint",
  command: `! grep -n TODO ${files} /dev/null`,
  globs: ["*.js"],
});

async function runWithChecks(checks: EnvironmentCheck[], files: Record<string, string>, ...lines: string[]) {
  const run = await newRun(...lines);
  for (const [path, text] of Object.entries(files)) await run.folder.write(path, text);
  expect(await run.turn({ checks })).toMatchObject({ type: "succeeded" });
  return { run, outputs: run.all("tool.returned").map(({ output }) => output) };
}

const edit = (path: string, old_text: string, new_text: string) =>
  `CALL: edit_file ${JSON.stringify({ path, edits: [{ old_text, new_text }] })}`;

describe("a check of the environment", () => {
  it.each(["{files}", "a.js"])("adds only new findings to the result of an edit (%s)", async (files) => {
    const { outputs } = await runWithChecks(
      [linter(files)],
      { "a.js": "TODO old\nb\n" },
      edit("a.js", "b", "TODO new"),
      edit("a.js", "TODO old", "first\nTODO old"),
      edit("a.js", "first", "TODO third"),
      edit("a.js", "TODO new", "done"),
    );
    const finding = (text: string) => `\n\nNew findings of the check "lint":\na.js:${text}`;
    expect(outputs).toEqual([
      `Changed a.js: 1 replacement, the first at line 2.${finding("2:TODO new")}`,
      "Changed a.js: 1 replacement, the first at line 1.",
      `Changed a.js: 1 replacement, the first at line 1.${finding("1:TODO third")}`,
      "Changed a.js: 1 replacement, the first at line 3.",
    ]);
  });

  it("runs only after edits of matching files", async () => {
    const { run, outputs } = await runWithChecks(
      [{ command: "echo ran >> log; cat log; exit 1", globs: ["src/**/*.js"] }],
      { "src/a/b.js": "x", "b.js": "x" },
      edit("b.js", "x", "y"),
      edit("src/a/b.js", "none", "y"),
      'CALL: read_file {"path": "src/a/b.js"}',
    );
    expect(outputs.join()).not.toContain("New findings");
    expect(await run.folder.read("log")).toBe("ran\n");
  });

  it("runs for every file of a patch, and for new files", async () => {
    const input =
      "*** Begin Patch\n*** Add File: new.js\n+TODO one\n*** Add File: it's $(x).js\n+TODO two\n*** End Patch";
    const { outputs } = await runWithChecks(
      [linter("{files}")],
      {},
      `CALL: apply_patch ${JSON.stringify({ input })}`,
      "WRITE: -v.js | TODO three",
    );
    expect(outputs[0]).toContain("new.js:1:TODO one\nit's $(x).js:1:TODO two");
    expect(outputs[1]).toContain("./-v.js:1:TODO three");
  });

  it("is bounded in its output", async () => {
    const { outputs } = await runWithChecks(
      [{ command: "[[ -e a.js ]] && yes $(head -c 1000 /dev/zero | tr '\\0' x); exit 1", globs: ["*"] }],
      {},
      "WRITE: a.js | x",
    );
    expect(outputs[0]?.length).toBeLessThan(20_000);
    expect(outputs[0]).toContain("New findings");
  });

  it("that takes too long is skipped", async () => {
    const run = await newRun("WRITE: a.js | x", "WRITE: a.js | y");
    run.folder.exec = async () => ({ exit_code: null, timed_out: true, duration_ms: 1 });
    await run.turn({ checks: [linter("{files}")] });
    const outputs = run.all("tool.returned").map(({ output }) => output);
    expect(outputs[0]).toContain('The check "lint" was skipped and does not run again in this turn:');
    expect(outputs[1]).toBe("Replaced a.js, 1 bytes.");
  });

  it("that a message interrupts prevents the edit and runs again later", async () => {
    const run = await newRun("WRITE: a.js | TODO", "WRITE: b.js | TODO");
    await run.folder.write("a.js", "old");
    const check = { command: "touch begun; [[ -e go ]] || sleep 60; exit 1", globs: ["*.js"] };
    const turn = run.turn({ checks: [check] });
    await expect.poll(() => run.folder.read("begun").catch(() => undefined), waitOptions).toBe("");
    await run.folder.write("go", "");
    run.send("SAY: stopped", "interrupt");
    expect(await turn).toMatchObject({ type: "succeeded" });
    expect(run.all("tool.returned").map(({ output }) => output)).toEqual([
      "Not started: the call was interrupted.",
      "Created b.js, 4 bytes.",
    ]);
    expect(await run.folder.read("a.js")).toBe("old");
  });

  it("reports the files that it changes", async () => {
    const run = await newRun("WRITE: a.js | x");
    const { exec } = run.folder;
    const changes = [{ path: "cache", kind: "created" as const, patch: "" }];
    run.folder.exec = async (command, options) => ({ ...(await exec(command, options)), changes });
    await run.turn({ checks: [linter("{files}")] });
    expect(run.all("file.changed").map(({ path }) => path)).toEqual(["a.js", "cache"]);
  });
});

describe("new findings", () => {
  it("ignore lines that moved, but not further ones of the same kind", () => {
    const before = ["a.ts(3): unused", "a.ts(9): unused"];
    expect(newFindings(before, ["a.ts(4): unused", "a.ts(9): unused"])).toEqual([]);
    expect(newFindings(before, ["a.ts(3): unused", "a.ts(5): unused", "a.ts(9): unused"])).toEqual([
      "a.ts(5): unused",
    ]);
  });
});

describe("a glob", () => {
  it.each([
    ["*.ts", "src/a/b.ts", true],
    ["*.ts", "src/a.tsx", false],
    ["*.{ts,tsx}", "/workspace/a.tsx", true],
    ["src/**/*.py", "repo/src/a.py", true],
    ["src/**/*.py", "repo/src/a/b/c.py", true],
    ["src/*.py", "src/a/b.py", false],
    ["**", "any/file", true],
    ["a?c*", "abcd", true],
    ["a?c", "ac", false],
    ["*a*b*", "xxaxxbxx", true],
  ])("%s matches %s: %s", (glob, path, matches) => {
    expect(matchesGlob(path, glob)).toBe(matches);
  });

  it("with many wildcards takes no exponential time", () => {
    const glob = `${"**/".repeat(80)}${"*a".repeat(4)}b`;
    expect(matchesGlob(`${"a/".repeat(2_000)}${"a".repeat(90)}`, glob)).toBe(false);
    expect(matchesGlob("a", "{a,b}".repeat(40))).toBe(false);
  });
});
