import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type StubModel, startStubModel } from "../packages/agent/test/stub-model/server.ts";
import { harnessCache } from "../scripts/tests/harness-cache.ts";
import { processesOn, root, run } from "./process.ts";

/** `outrider eval` with its own server, as a user starts it. */

const folder = mkdtempSync(join(tmpdir(), "outrider-eval-test-"));
let stub: StubModel;

beforeAll(async () => {
  stub = await startStubModel({});
});
afterAll(async () => {
  await stub.close();
  rmSync(folder, { recursive: true });
});

async function evaluate(args: string[], environment: Record<string, string> = {}) {
  const file = join(folder, "report.json");
  const running = run(["eval", ...args, "--json", file], environment);
  const { code } = await running.ended;
  const output = running.stdout();
  // biome-ignore lint/suspicious/noExplicitAny: the report has many fields
  const report: any = code === 2 ? undefined : JSON.parse(readFileSync(file, "utf8"));
  return { code, output, stderr: running.stderr(), report };
}

const suite = ["--suite", join(root, "eval/tasks")];

test("accepts right answers, rejects wrong ones, and reports a model that solves nothing", async () => {
  const tasks = [
    ...["fix-lru-eviction", "add-dry-run"],
    ...["question-unused-dependency", "refuse-hidden-login", "recover-merge-conflict"],
  ];
  const { code, output, report } = await evaluate(
    [
      ...[...suite, "--tasks", tasks.join(","), "--model", "scripted"],
      ...["--model", "openai-compatible/stub", "--max-steps", "5"],
    ],
    {
      OUTRIDER_OPENAI_COMPATIBLE_URL: stub.baseUrl("chat"),
      OUTRIDER_OPENAI_COMPATIBLE_MODELS: "stub",
    },
  );
  // biome-ignore lint/suspicious/noExplicitAny: see above
  const results = (filter: (result: any) => boolean) => report.results.filter(filter);
  const solutions = results(({ scripted }) => scripted === "solution");
  const wrong = results(({ scripted }) => scripted === "wrong");
  const real = results(({ model_id }) => model_id === "openai-compatible/stub");
  expect(solutions.filter(({ solved }: { solved: boolean }) => !solved)).toEqual([]);
  expect(wrong.filter(({ solved }: { solved: boolean }) => solved)).toEqual([]);
  expect([solutions.length, wrong.length, real.length]).toEqual([5, 5, 5]);
  for (const result of [...wrong, ...real])
    expect(result, result.task).toMatchObject({ solved: false, error: false, reason: expect.any(String) });
  for (const result of real) expect(result.steps, result.task).toBeGreaterThan(0);
  expect(report.models).toMatchObject([
    { model_id: "scripted", solved: 5, attempts: 10, errors: 0 },
    { model_id: "openai-compatible/stub", solved: 0, attempts: 5, errors: 0 },
  ]);
  expect(output).toContain("The evaluation judged all 10 known answers correctly.");
  expect(output).toMatch(/openai-compatible\/stub +0 of 5/);
  expect(code).toBe(0);
  expect(processesOn("outrider-eval-")).toEqual([]);
});

test("compares agents on the same tasks, and rejects an unknown one", async () => {
  const args = [...suite, "--tasks", "question-count-callers", "--model", "scripted"];
  const environment = { OUTRIDER_HARNESS_CACHE: harnessCache };
  const { code, output, report } = await evaluate([...args, "--harness", "outrider,codex"], environment);
  expect(code).toBe(0);
  expect(report.models).toMatchObject([
    { model_id: "scripted", harness: "outrider", solved: 1, attempts: 2 },
    { model_id: "scripted", harness: "codex", solved: 1, attempts: 2 },
  ]);
  expect(output).toMatch(
    /^TASK +outrider +codex\nquestion-count-callers +judged correctly +judged correctly$/m,
  );
  const { code: refused, stderr } = await evaluate([...args, "--harness", "outrider, nope"]);
  expect(refused).toBe(2);
  expect(stderr).toContain('Harness "nope" not found. Use outrider, claude');
});

/** A repository with a history: usable commits, and some that cannot be tasks. */
function createRepository(): { path: string; newest: string } {
  const path = join(folder, "repository");
  mkdirSync(path);
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", path, "-c", "user.name=A", "-c", "user.email=a@example.com", ...args], {
      encoding: "utf8",
    }).trim();
  const commit = (message: string, files: Record<string, string>) => {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), content);
    }
    git("add", "-A");
    git("commit", "-q", "-m", message);
    return git("rev-parse", "HEAD");
  };
  const testOf = (body: string) =>
    `import assert from "node:assert";\nimport { test } from "node:test";\nimport * as math from "../math.js";\n${body}\n`;
  const manifest = { name: "math", type: "module", scripts: { test: "node --test" } };
  const add = "export const add = (a, b) => a + b;\n";
  const double = `${add}export const double = (a) => add(a, a);\n`;
  git("init", "-q", "-b", "main");
  commit("Add two numbers", {
    "package.json": JSON.stringify(manifest),
    "math.js": add,
    "test/add.test.js": testOf('test("adds", () => assert.equal(math.add(1, 2), 3));'),
  });
  commit("Double a number\n\nExport `double(a)` from math.js.\n\nSigned-off-by: A <a@example.com>", {
    "math.js": double,
    "test/double.test.js": testOf('test("doubles", () => assert.equal(math.double(2), 4));'),
  });
  commit("Describe the project", { "README.md": "# Math\n" });
  commit("Reword a comment and test more", {
    "math.js": `// Numbers.\n${double}`,
    "test/zero.test.js": testOf('test("zero", () => assert.equal(math.add(0, 0), 0));'),
  });
  commit("Start with triples", {
    "math.js": `// Numbers.\n${double}export const triple = (a) => a;\n`,
    "test/triple.test.js": testOf('test("triples", () => assert.equal(math.triple(2), 6));'),
  });
  const negate = `// Numbers.\n${double}export const negate = (a) => -a;\n`;
  commit("wip", { "math.js": negate, "test/wip.test.js": testOf("") });
  const newest = commit("Negate numbers without negative zero", {
    "math.js": negate.replace("-a;", "0 - a;"),
    "test/negate.test.js": testOf('test("negates", () => assert.ok(Object.is(math.negate(0), 0)));'),
  });
  return { path, newest };
}

test("turns a repository's history into tasks, and rejects commits that cannot be judged", async () => {
  const { path, newest } = createRepository();
  // A build in which the newest commit is present would fail.
  const noLaterHistory = `! git cat-file -e ${newest} 2>/dev/null && test -z "$(git for-each-ref)"`;
  const { code, output, report } = await evaluate([
    ...["--from-history", path, "--commits", "10", "--model", "scripted"],
    ...["--setup-command", noLaterHistory],
  ]);
  expect(report.rejected_commits).toEqual([
    expect.objectContaining({ subject: "wip", reason: expect.stringContaining("fewer than 3 words") }),
    expect.objectContaining({
      subject: expect.stringMatching(/Start with triples|Reword a comment/),
      reason: expect.stringContaining("Its tests"),
    }),
    expect.objectContaining({ reason: expect.stringContaining("Its tests") }),
  ]);
  expect(output).toContain("Its tests fail with its own change.");
  expect(output).toContain("Its tests pass without its change, so they cannot judge it.");
  const tasks = report.results.map(({ task }: { task: string }) => task.replace(/^\w+ /, ""));
  expect(tasks).toEqual([
    ...["Negate numbers without negative zero", "Negate numbers without negative zero"],
    ...["Double a number", "Double a number"],
  ]);
  expect(report.models).toMatchObject([{ solved: 2, attempts: 4, errors: 0 }]);
  expect(code).toBe(0);
});

test("names the option to change if the command is invalid", async () => {
  const { code, stderr } = await evaluate(["--suite", folder, "--commits", "3"]);
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--commits requires --from-history"),
  });
  const neither = await evaluate([]);
  expect(neither).toMatchObject({ code: 2, stderr: expect.stringContaining("either --suite") });
  const unknown = await evaluate([...suite, "--tasks", "nope", "--list"]);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('"nope" not found') });
});
