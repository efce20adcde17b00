import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { compare, comparisonColumns } from "../src/eval/comparison.ts";
import { GitHistory } from "../src/eval/history/git.ts";
import { isCode, isTest } from "../src/eval/history/paths.ts";
import { detectTestCommand, fillTestCommand } from "../src/eval/history/test-command.ts";
import { summarize } from "../src/eval/report.ts";
import { joinCommands, writeFileCommands } from "../src/eval/shell.ts";
import { readSuite } from "../src/eval/suite.ts";
import type { EvalResult } from "../src/eval/task.ts";
import { createStyle } from "../src/terminal/style.ts";
import { alignedTable } from "../src/terminal/table.ts";

const folder = mkdtempSync(join(tmpdir(), "outrider-eval-unit-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("paths", () => {
  const tests = [
    ...["test.py", "test_slug.py", "pkg/slug_test.py", "tests/data.json", "conftest.py"],
    ...["a.test.ts", "a.spec.jsx", "src/__tests__/x.js", "pkg/x_test.go", "XTest.java"],
  ];
  const others = ["src/main.ts", "latest.py", "contest.js", "pkg/attest.go", "protest/x.rb"];
  test.each(tests)("%s is a test", (path) => expect(isTest(path, {})).toBe(true));
  test.each(others)("%s is code", (path) =>
    expect([isTest(path, {}), isCode(path, {})]).toEqual([false, true]),
  );

  test("documents are neither", () => expect(isCode("README.md", {})).toBe(false));

  test("globs replace the usual names", () => {
    const patterns = { tests: ["checks/**"], code: ["**/*.conf"] };
    expect(isTest("checks/a.js", patterns)).toBe(true);
    expect(isTest("test/a.js", patterns)).toBe(false);
    expect(isCode("etc/a.conf", patterns)).toBe(true);
    expect(isCode("a.js", patterns)).toBe(false);
  });
});

describe("test commands", () => {
  async function detect(files: Record<string, string>) {
    const path = mkdtempSync(join(folder, "repository-"));
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", path, "-c", "user.name=A", "-c", "user.email=a@example.com", ...args]);
    git("init", "-q", "-b", "main");
    for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content);
    git("add", "-A");
    git("commit", "-q", "-m", "Start");
    return detectTestCommand(new GitHistory(join(path, ".git"), AbortSignal.timeout(60_000)), "main");
  }
  const manifest = (script: string) => ({ "package.json": JSON.stringify({ scripts: { test: script } }) });

  test("are detected from the files of a repository", async () => {
    expect(await detect({ "go.mod": "module x" })).toBe("go test {folders}");
    expect(await detect(manifest("node --test"))).toBe("node --test {files}");
    expect(await detect(manifest("jest"))).toBe("npm test");
    expect(await detect({ "pyproject.toml": "[tool.pytest.ini_options]" })).toBe(
      "python3 -m pytest -q {files}",
    );
    expect(await detect({ "setup.py": "" })).toBe("python3 -m unittest {files}");
  });

  test("are unknown for other repositories", async () => {
    expect(await detect({ "main.c": "" })).toBeUndefined();
    expect(await detect(manifest('echo "Error: no test specified"'))).toBeUndefined();
  });

  test("name the tests of a commit, not their data", () => {
    const paths = ["tests/conftest.py", "tests/data.json", "tests/test_a b.py", "tests/sub/test_c.py"];
    expect(fillTestCommand("run {files}", paths)).toBe("run 'tests/test_a b.py' 'tests/sub/test_c.py'");
    expect(fillTestCommand("run {folders}", paths)).toBe("run './tests' './tests/sub'");
    expect(fillTestCommand("run all", paths)).toBe("run all");
  });
});

test("files of any content, size and name can be written by short shell commands", () => {
  const content = randomBytes(30_000);
  const file = { path: "it's a/folder $x/-file", content, isExecutable: true };
  const commands = joinCommands([...writeFileCommands(file), "echo done"]);
  expect(Math.max(...commands.map(({ length }) => length))).toBeLessThanOrEqual(8_192);
  for (const command of commands) execFileSync("bash", ["-c", command], { cwd: folder });
  expect(readFileSync(join(folder, file.path)).equals(content)).toBe(true);
  expect(statSync(join(folder, file.path)).mode & 0o100).toBe(0o100);
});

describe("suites", () => {
  function createSuite(files: Record<string, string>): string {
    const path = mkdtempSync(join(folder, "suite-"));
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(join(path, "task"), { recursive: true });
      writeFileSync(join(path, "task", name), content);
    }
    return path;
  }
  const valid = {
    "task.json": '{"kind": "fix", "programs": [], "test": "true"}',
    "prompt.md": "Do it.",
    "solution.script": "SAY: yes",
    "wrong.script": "SAY: no",
  };

  test("are read from folders", () => {
    expect(readSuite(createSuite(valid))).toMatchObject([{ name: "task", kind: "fix", prompt: "Do it." }]);
  });

  test.each([
    [{ "task.json": "{" }, "cannot be read"],
    [{ "task.json": '{"kind": "fix", "programs": [], "tset": "true"}' }, "unknown field tset"],
    [{ "task.json": '{"kind": "other", "programs": [], "test": "true"}' }, "kind must be one of"],
    [{ "task.json": '{"kind": "fix", "test": "true"}' }, "needs the field programs"],
    [{ "task.json": '{"kind": "fix", "programs": []}' }, "has no judge"],
    [{ "prompt.md": "" }, "needs a prompt.md"],
    [{ "wrong.script": "" }, "needs a folder wrong or a file wrong.script"],
  ])("reject %o", (change, message) => {
    expect(() => readSuite(createSuite({ ...valid, ...change }))).toThrow(message);
  });
});

test("the suite of this repository has at least 40 tasks of every kind", () => {
  const tasks = readSuite(join(import.meta.dirname, "../../../eval/tasks"));
  expect(tasks.length).toBeGreaterThanOrEqual(40);
  expect([...new Set(tasks.map(({ kind }) => kind))].toSorted()).toEqual([
    "feature",
    "fix",
    "question",
    "recover",
    "refactor",
    "refuse",
  ]);
  for (const { name, environment } of tasks) {
    expect(environment.setup_commands?.length, name).toBeLessThanOrEqual(50);
    for (const command of environment.setup_commands ?? [])
      expect(command.length, name).toBeLessThanOrEqual(8_192);
  }
});

describe("the comparison of harnesses", () => {
  const result = (task: string, harness: string, more: Partial<EvalResult> = {}): EvalResult => ({
    ...{ task, kind: "fix", model: "m", harness, attempt: 1, isSolved: true, isError: false },
    ...{ steps: 2, inputTokens: 1_000, outputTokens: 10, costUsd: 0.5, durationMs: 3_000 },
    ...more,
  });
  const style = createStyle(false);
  const print = (results: EvalResult[]) =>
    alignedTable(compare(results), comparisonColumns(results, style), { width: 200, style }).split("\n");

  test("has a column per harness, a line per task, and totals", () => {
    const results = [
      result("one", "outrider"),
      result("one", "claude", { steps: 5 }),
      result("two", "outrider", { isSolved: false }),
      result("two", "claude", { isError: true, isSolved: false }),
    ];
    expect(print(results)).toEqual([
      "TASK    outrider    claude",
      "one     solved      solved",
      "two     not solved  error",
      "SOLVED  1 of 2      1 of 2",
      "ERRORS  0           1",
      "STEPS   4           7",
      "TOKENS  2,000 + 20  2,000 + 20",
      "COST    $1.00       $1.00",
      "TIME    6.0 s       6.0 s",
    ]);
    expect(summarize(results).map(({ harness, solved }) => [harness, solved])).toEqual([
      ["outrider", 1],
      ["claude", 1],
    ]);
  });

  test("counts repeated attempts, and says whether known answers were judged correctly", () => {
    const [, several, known] = print([
      result("several", "pi"),
      result("several", "pi", { isSolved: false, attempt: 2 }),
      result("known", "pi", { scripted: "solution" }),
      result("known", "pi", { scripted: "wrong", isSolved: false }),
    ]);
    expect(several).toMatch(/^several +1 of 2 solved$/);
    expect(known).toMatch(/^known +judged correctly$/);
  });
});
