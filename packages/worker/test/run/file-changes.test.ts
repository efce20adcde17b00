import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { longSleep, startTestInstallation, type TestInstallation, waitForSleep } from "../installation.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";

/** The file changes that the transcript reports for each command. */

let installation: TestInstallation;
let temporary: ReturnType<typeof makeFolder>;
let site: Origin;

beforeAll(async () => {
  temporary = makeFolder();
  site = new Origin(temporary.folder, "site");
  site.push("main", {
    ".gitignore": "build/\n*.log\n",
    "README.md": "hello\n",
    "tracked.log": "1\n",
    "src/page.txt": "one\ntwo\nthree\n",
    "src/deep/a.txt": "a\n",
    "src/deep/b.txt": "b\n",
  });
  installation = await startTestInstallation();
  await installation.worker({ repositoryPaths: [temporary.folder] });
});
afterAll(async () => {
  await installation.stop();
  temporary.remove();
});

interface Step {
  changes: { path: string; kind: string; patch: string }[];
  /** `kind path` of each change. */
  short: string[];
}

/** The changes of each command, in order. */
async function stepsOf(run: string): Promise<Step[]> {
  const steps: Step[] = [];
  let isInTool = false;
  for (const { type, data } of await installation.events(run)) {
    if (type === "tool.called" || type === "tool.returned") isInTool = type === "tool.called";
    if (type === "command.finished") steps.push({ changes: [], short: [] });
    if (type !== "file.changed" || isInTool) continue;
    steps.at(-1)?.changes.push(data);
    steps.at(-1)?.short.push(`${data.kind} ${data.path}`);
  }
  return steps;
}

async function steps(script: string[], body: object = {}): Promise<Step[]> {
  const run = await installation.create(script, body);
  await installation.until(run, "SUCCEEDED");
  return stepsOf(run);
}

const notices = async (run: string, code: string) =>
  (await installation.events(run)).filter(({ type, data }) => type === "notice" && data.code === code);

async function environment(body: object = {}): Promise<{ config: { environment_id: string } }> {
  const name = `env ${randomUUID().slice(0, 8)}`;
  const reply = await installation.call("POST", "/agent/environments", { body: { name, ...body } });
  expect(reply).toMatchObject({ status: 201 });
  return { config: { environment_id: reply.body.environment_id } };
}

const inSite = () => environment({ repos: [{ url: `file://${site.bare}` }] });

describe("a command's changes", () => {
  test("are reported right after it, and only its own", async () => {
    const [first, second, third, fourth, last] = await steps([
      "RUN: seq 20 > numbers",
      "RUN: sed -i s/^3$/three/ numbers",
      "RUN: cat numbers; touch numbers",
      "RUN: sed -i s/^17$/seventeen/ numbers && chmod +x numbers",
      "RUN: rm numbers",
    ]);
    expect(first?.changes).toEqual([
      {
        path: "numbers",
        kind: "created",
        patch: expect.stringMatching(/^--- \/dev\/null\n\+\+\+ b\/numbers\n@@.*\n\+1\n/),
      },
    ]);
    expect(second?.short).toEqual(["modified numbers"]);
    expect(second?.changes[0]?.patch).toMatch(/^--- a\/numbers\n\+\+\+ b\/numbers\n@@(.*\n)*-3\n\+three\n/);
    expect(third?.short).toEqual([]);
    expect(fourth?.changes[0]?.patch).toMatch(/^old mode 100644\nnew mode 100755\n--- a\/numbers\n/);
    expect(fourth?.changes[0]?.patch).toContain("-17\n+seventeen\n");
    expect(fourth?.changes[0]?.patch).not.toContain("+three");
    expect(last?.short).toEqual(["deleted numbers"]);
    expect(last?.changes[0]?.patch).toContain("-seventeen\n");
  });

  test("do not include what the agent wrote with a tool", async () => {
    const [step, after] = await steps(["WRITE: file | by tool", "RUN: echo by command >> file", "RUN: true"]);
    expect(step?.short).toEqual(["modified file"]);
    expect(step?.changes[0]?.patch).toContain("-by tool\n");
    expect(step?.changes[0]?.patch).toContain("+by toolby command\n");
    expect(after?.short).toEqual([]);
  });

  test("report renames as deleted and created, and files that replace folders", async () => {
    const [, renamed, replaced] = await steps([
      "RUN: mkdir -p d && echo x > d/f && echo y > g",
      "RUN: mv d e && mv g h",
      "RUN: rm -r e && echo file > e && rm h && mkdir h && echo in > h/in",
    ]);
    expect(renamed?.short).toEqual(["deleted d/f", "created e/f", "deleted g", "created h"].sort(byPath));
    expect(replaced?.short.sort(byPath)).toEqual(["created e", "deleted e/f", "deleted h", "created h/in"]);
  });

  test("describe binary, large and linked files", async () => {
    const [made, changed] = await steps([
      "RUN: printf 'a\\0b' > binary; head -c 3000000 /dev/urandom | base64 > large; ln -s /etc/passwd link; mkfifo pipe; : > empty; seq 30000 > long",
      "RUN: printf 'a\\0c' > binary; echo more >> large; ln -sfn elsewhere link",
    ]);
    expect(made?.short).toEqual(
      ["binary", "empty", "large", "link", "long"].map((name) => `created ${name}`),
    );
    const [binary, empty, large, link, long] = made?.changes.map(({ patch }) => patch) ?? [];
    expect(binary).toBe("Binary files /dev/null and b/binary differ\n");
    expect(empty).toBe("--- /dev/null\n+++ b/empty\n");
    expect(large).toMatch(/^--- \/dev\/null\n\+\+\+ b\/large\n\[\d{7} bytes, not compared\]\n$/);
    expect(link).toContain("new file mode 120000\n");
    expect(link).toContain("+/etc/passwd\n");
    expect(long?.length).toBeLessThan(66_000);
    expect(long).toContain("\n[cut]\n");
    expect(changed?.short).toEqual(["modified binary", "modified large", "modified link"]);
    expect(changed?.changes[2]?.patch).toContain("-/etc/passwd\n\\ No newline at end of file\n+elsewhere\n");
  });

  test("support unusual file names", async () => {
    const names = ["-rf", "new\nline", 'quo"te', "back\\slash", "tab\there", "snow ☃", "a b", "[x]*?", "b/c"];
    const quoted = names.map(
      (name) => `$'${name.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\t", "\\t")}'`,
    );
    const [made, again] = await steps([
      `RUN: mkdir b; for name in ${quoted.join(" ")}; do echo 1 > "./$name"; done`,
      `RUN: for name in ${quoted.join(" ")}; do echo 2 >> "./$name"; done`,
    ]);
    expect(made?.changes.map(({ path }) => path).sort()).toEqual([...names].sort());
    expect(again?.changes.map(({ path }) => path).sort()).toEqual([...names].sort());
    expect(
      again?.changes.every(({ patch, kind }) => kind === "modified" && patch.endsWith("\n 1\n+2\n")),
    ).toBe(true);
  });

  test("are limited, and a notice counts the rest", async () => {
    const run = await installation.create([
      "RUN: for i in $(seq 1000 1149); do echo $i > file$i; done",
      "RUN: for i in $(seq 1000 1019); do seq 15000 > file$i; done",
      "RUN: for i in $(seq 1100 1109); do echo x >> file$i; done",
    ]);
    await installation.until(run, "SUCCEEDED");
    const [many, long, few] = await stepsOf(run);
    expect(many?.short).toHaveLength(100);
    expect(many?.short[99]).toBe("created file1099");
    const size = long?.changes.reduce((sum, { patch }) => sum + patch.length, 0) ?? 0;
    expect(size).toBeLessThanOrEqual(512 * 1024);
    expect(long?.short.length).toBeGreaterThan(5);
    // Changes that were not reported are still noted.
    expect(few?.changes.map(({ kind }) => kind)).toEqual(Array(10).fill("modified"));
    expect(few?.changes[0]?.patch).toContain(" 1100\n+x\n");
    const counts = (await notices(run, "more_changes")).map(({ data }) => parseInt(data.message, 10));
    expect(counts).toEqual([50, 20 - (long?.short.length ?? 0)]);
  });

  test("contain no secret, not even half of one at the end of a truncated patch", async () => {
    await installation.call("PUT", "/agent/secrets/STEP_TOKEN", { body: { value: "stepped-secret-42" } });
    const [plain, long] = await steps(
      [
        'RUN: echo "a $STEP_TOKEN b" > plain; echo -n "$STEP_TOKEN" | base64 > encoded',
        'RUN: { head -c 65490 /dev/zero | tr "\\0" x; echo "${STEP_TOKEN}y"; } > cut',
      ],
      await environment({ secrets: ["STEP_TOKEN"] }),
    );
    expect(plain?.short).toEqual(["created encoded", "created plain"]);
    expect(plain?.changes[0]?.patch).toContain("+***");
    expect(plain?.changes[1]?.patch).toContain("+a *** b\n");
    expect(long?.changes[0]?.patch).toMatch(/x\*\*\*/);
  });

  test("are reported for an interrupted command", async () => {
    const { command, mark } = longSleep();
    const run = await installation.create([`RUN: echo begun > file; ${command}`]);
    await waitForSleep(mark);
    await installation.followUp(run, ["RUN: cat file"], { mode: "interrupt" });
    await installation.until(run, "SUCCEEDED");
    expect((await stepsOf(run)).map(({ short }) => short)).toEqual([["created file"], []]);
  });

  test.each([
    ["in a warm sandbox", 5],
    ["in a restored sandbox", 0],
  ])("of an earlier turn are not reported again %s", async (_, idle_timeout_minutes) => {
    const run = await installation.create(["RUN: echo one > file; echo old > other"], {
      config: { idle_timeout_minutes },
    });
    await installation.until(run, "SUCCEEDED");
    await installation.followUp(run, ["RUN: echo two >> file"]);
    await installation.until(run, "SUCCEEDED");
    const [, step] = await stepsOf(run);
    expect(step?.short).toEqual(["modified file"]);
    expect(step?.changes[0]?.patch).toContain(" one\n+two\n");
  });
});

describe("a hostile agent", () => {
  test("cannot influence the reports with files in /tmp and its home", async () => {
    const [, step] = await steps([
      "RUN: echo one > file; mkdir -p ~/.config/git; echo '* binary' | tee ~/.config/git/attributes > .gitattributes; git config --global diff.external false; rm -rf /tmp/* /dev/shm/*",
      "RUN: echo two >> file",
    ]);
    expect(step?.short).toEqual(["modified file"]);
    expect(step?.changes[0]?.patch).toContain(" one\n+two\n");
  });

  test("cannot see the saved contents", async () => {
    const run = await installation.create(["RUN: echo one > file", "RUN: ls -A /.outrider 2>&1"]);
    await installation.until(run, "SUCCEEDED");
    const [output] = (await installation.events(run)).filter(({ type }) => type === "command.output");
    expect(output?.data.text).toContain("No such file or directory");
  });

  test("cannot fake changes with a file that looks like a patch", async () => {
    const line = "x\\rdiff --git a/y b/y\\ndiff --git a/z b/z\\n";
    const [step] = await steps([`RUN: printf '${line}' > file`]);
    expect(step?.short).toEqual(["created file"]);
    expect(step?.changes[0]?.patch).toContain("+x\rdiff --git a/y b/y\n+diff --git a/z b/z\n");
  });

  test("cannot run programs or fail the run with a repository's configuration", async () => {
    const run = await installation.create([
      "RUN: git init -q . && git config core.fsmonitor 'touch /workspace/ran; false' && git config diff.external 'touch /workspace/ran' && git config core.hooksPath /workspace/hooks && mkfifo pipe",
      "RUN: echo x > file",
      "RUN: git config core.excludesFile /workspace/pipe; echo y > other",
      "RUN: ls",
    ]);
    await installation.until(run, "SUCCEEDED");
    const [, step] = await stepsOf(run);
    expect(step?.short).toEqual(["created file"]);
    expect(await notices(run, "no_step_changes")).toHaveLength(1);
    const output = (await installation.events(run)).filter(({ type }) => type === "command.output");
    expect(output.map(({ data }) => data.text).join("")).toBe("file\nother\npipe\n");
  });

  test("cannot make unreadable files look deleted", async () => {
    const [, closed, opened] = await steps([
      "RUN: mkdir d && echo x > d/f && echo y > g",
      "RUN: chmod 000 g d",
      "RUN: chmod 755 d && chmod 644 g && echo z >> g",
    ]);
    expect(closed?.short).toEqual([]);
    expect(opened?.short).toEqual(["modified g"]);
    expect(opened?.changes[0]?.patch).toContain(" y\n+z\n");
  });
});

describe("in a repository of an environment", () => {
  test("changes are reported against the commit first, then against the previous step", async () => {
    const [quiet, first, second, third, fourth] = await steps(
      [
        "RUN: git status && touch README.md",
        "RUN: sed -i s/two/2/ src/page.txt && rm README.md && echo new > src/new",
        "RUN: sed -i s/three/3/ src/page.txt && echo back > README.md",
        "RUN: rm -r src/deep && mkdir src/deep && echo c > src/deep/c.txt",
        "RUN: git add -A && git -c user.name=a -c user.email=a@b.c commit -qm all && rm -r src",
      ],
      await inSite(),
    );
    expect(quiet?.short).toEqual([]);
    expect(first?.short).toEqual(["deleted README.md", "created src/new", "modified src/page.txt"]);
    expect(first?.changes[2]?.patch).toBe(
      "--- a/src/page.txt\n+++ b/src/page.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
    );
    expect(first?.changes[0]?.patch).toContain("-hello\n");
    expect(second?.short).toEqual(["created README.md", "modified src/page.txt"]);
    expect(second?.changes[1]?.patch).toContain(" 2\n-three\n+3\n");
    expect(third?.short).toEqual([
      "deleted src/deep/a.txt",
      "deleted src/deep/b.txt",
      "created src/deep/c.txt",
    ]);
    expect(fourth?.short).toEqual(["deleted src/deep/c.txt", "deleted src/new", "deleted src/page.txt"]);
    expect(fourth?.changes[2]?.patch).toContain("-one\n-2\n-3\n");
  });

  test("ignored files are not reported, however many, but tracked files are", async () => {
    const run = await installation.create(
      [
        "RUN: mkdir -p build/out && (cd build/out && seq 25000 | xargs touch) && echo x > src/x && echo y > a.log",
        "RUN: echo more > build/out/1 && echo y >> src/x && echo 2 >> tracked.log",
        "RUN: rm -r src/deep && ln -s .. src/deep && echo y > b.log",
        "RUN: echo '*.log' > .gitignore && rm -r build && mkdir build && echo now > build/told",
        "RUN: echo again >> build/told && echo z >> a.log",
      ],
      await inSite(),
    );
    await installation.until(run, "SUCCEEDED");
    expect((await stepsOf(run)).map(({ short }) => short)).toEqual([
      ["created src/x"],
      ["modified src/x", "modified tracked.log"],
      ["created src/deep", "deleted src/deep/a.txt", "deleted src/deep/b.txt"],
      ["modified .gitignore"],
      ["created build/told"],
    ]);
    expect(await notices(run, "no_step_changes")).toEqual([]);
  });

  test("commits newer than the build are not attributed to the first command", async () => {
    const moving = new Origin(temporary.folder, "moving");
    moving.push("main", { file: "old\n" });
    const config = await environment({ repos: [{ url: `file://${moving.bare}`, ref: "main" }] });
    await steps(["SAY: built"], config);
    moving.push("main", { file: "new\n" });
    const [step] = await steps(["RUN: echo more >> file"], config);
    expect(step?.short).toEqual(["modified file"]);
    expect(step?.changes[0]?.patch).toContain(" new\n+more\n");
  });
});

test("a workspace with too many files emits one notice, and the run continues", async () => {
  const run = await installation.create([
    "RUN: mkdir d; cd d; seq 21000 | xargs touch",
    "RUN: echo x > file",
    "RUN: true",
  ]);
  await installation.until(run, "SUCCEEDED");
  const failures = await notices(run, "no_step_changes");
  expect(failures.map(({ data }) => data.message)).toEqual([
    expect.stringContaining("more than 20,000 files"),
  ]);
});

function byPath(a: string, b: string): number {
  const path = (text: string) => text.slice(text.indexOf(" ") + 1);
  return path(a) < path(b) ? -1 : 1;
}
