import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newRun } from "../run.ts";

/** What a tool answers about a folder with these files; those whose name ends with a slash are repositories. */
async function ask(tool: string, input: object, files: Record<string, string | Buffer> = {}) {
  const run = await newRun(`CALL: ${tool} ${JSON.stringify(input)}`);
  const { path } = run.folder;
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(path, name, name.endsWith("/") ? "" : ".."), { recursive: true });
    if (name.endsWith("/")) execFileSync("git", ["init", "-q", join(path, name)]);
    else writeFileSync(join(path, name), content);
  }
  return {
    folder: path,
    async answer() {
      await run.turn();
      const { output, is_error, images } = run.all("tool.returned").at(-1) ?? {};
      return { output: output ?? "", is_error, images, stored: [...run.stored.values()] };
    },
  };
}

async function answer(...question: Parameters<typeof ask>) {
  return (await ask(...question)).answer();
}

describe("read_file", () => {
  it("numbers lines", async () => {
    const { output } = await answer("read_file", { path: "a.txt" }, { "a.txt": "one\n\nthree" });
    expect(output).toBe("1\tone\n2\t\n3\tthree\n");
  });

  it("reads a part and names the next offset", async () => {
    const text = Array.from({ length: 10 }, (_, index) => `line ${index + 1}\n`).join("");
    const { output } = await answer("read_file", { path: "a", offset: 4, limit: 2 }, { a: text });
    expect(output).toBe("4\tline 4\n5\tline 5\n[lines 4 to 5 of 10; continue with offset 6]");
  });

  it("reads a long file page by page to its end", async () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `${index + 1} ${"x".repeat(index % 90)}`);
    const seen: string[] = [];
    for (let offset: number | undefined = 1; offset; ) {
      const { output } = await answer("read_file", { path: "a", offset }, { a: `${lines.join("\n")}\n` });
      expect(Buffer.byteLength(output)).toBeLessThan(64 * 1024);
      seen.push(...output.split("\n").filter((line) => /^\d+\t/.test(line)));
      const next: string | undefined = /continue with offset (\d+)\]$/.exec(output)?.[1];
      offset = next ? Number(next) : undefined;
    }
    expect(seen).toEqual(lines.map((line, index) => `${index + 1}\t${line}`));
  });

  it("truncates long lines, also with multi-byte characters", async () => {
    const { output } = await answer("read_file", { path: "a" }, { a: `${"€".repeat(9_000)}\nshort\n` });
    expect(output).toBe(`1\t${"€".repeat(2_000)} [… line truncated]\n2\tshort\n`);
  });

  it("reads far into a huge file without reading it into memory", async () => {
    const question = await ask("read_file", { path: "huge", offset: 2_000_000, limit: 1 });
    execFileSync("bash", ["-c", "seq -f 'this is line %.0f of many' 3000000 > huge"], {
      cwd: question.folder,
    });
    expect((await question.answer()).output).toMatch(/^2000000\tthis is line 2000000 of many\n\[lines/);
  });

  it.each([
    ["is empty", "", "[the file is empty]"],
    ["ends before", "one\n", "[the file has 1 lines]"],
  ])("reports that the file %s", async (_, text, said) => {
    expect((await answer("read_file", { path: "a", offset: 9 }, { a: text })).output).toBe(said);
  });

  it("describes a binary file", async () => {
    const { output } = await answer("read_file", { path: "a" }, { a: Buffer.from([1, 0, 2]) });
    expect(output).toBe("a is a binary file of 3 bytes. Use a command to inspect it.");
  });

  it.each([
    ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1]],
    ["image/jpeg", [0xff, 0xd8, 0xff, 0xe0, 0, 1]],
    ["image/gif", [...Buffer.from("GIF89a"), 0, 1]],
    ["image/webp", [...Buffer.from("RIFF"), 1, 2, 3, 4, ...Buffer.from("WEBP"), 0]],
  ])("shows %s regardless of its name", async (mime_type, bytes) => {
    const { output, images, stored } = await answer(
      "read_file",
      { path: "a.txt" },
      { "a.txt": Buffer.from(bytes) },
    );
    expect(output).toBe(`a.txt is an image (${mime_type}, ${bytes.length} bytes).`);
    expect(images).toMatchObject([{ mime_type }]);
    expect(Buffer.from(stored[0]?.data ?? []).equals(Buffer.from(bytes))).toBe(true);
  });

  it("does not show an image that is too large", async () => {
    const data = Buffer.alloc(5 * 1024 * 1024 + 1);
    data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const { output, images } = await answer("read_file", { path: "a.png" }, { "a.png": data });
    expect(output).toContain("too large to show");
    expect(images).toBeUndefined();
  });

  it("lists a folder", async () => {
    const question = await ask("read_file", { path: "d" }, { "d/b.txt": "", "d/a/x": "", "d/ -c\nd": "" });
    symlinkSync("b.txt", join(question.folder, "d/link"));
    expect((await question.answer()).output).toBe("d is a folder:\n -c\nd\na/\nb.txt\nlink@");
  });

  it("suggests similar paths for a missing one", async () => {
    const files = { "src/agent/loop.ts": "", "src/agent/step.ts": "", "test/x.ts": "" };
    const near = await answer("read_file", { path: "src/agent/lop.ts" }, files);
    expect(near).toMatchObject({ is_error: true });
    expect(near.output).toContain("does not exist. Similar paths: src/agent/loop.ts");
    const moved = await answer("read_file", { path: "lib/loop.ts" }, files);
    expect(moved.output).toContain("Similar paths: src/agent/loop.ts");
  });

  it.each(["-n", "a b.txt", "new\nline", "--help", "$(touch injected)", "'quote\"", "*", "deep/-r/x"])(
    "reads a file called %j",
    async (path) => {
      const question = await ask("read_file", { path }, { [path]: "content" });
      expect((await question.answer()).output).toBe("1\tcontent\n");
      expect(execFileSync("ls", ["-A"], { cwd: question.folder }).toString()).not.toContain("injected\n");
    },
  );

  it("does not block on a pipe and reports missing permissions", async () => {
    const pipe = await ask("read_file", { path: "pipe" });
    execFileSync("mkfifo", ["pipe"], { cwd: pipe.folder });
    expect((await pipe.answer()).output).toBe("pipe is neither a file nor a folder.");
    if (process.getuid?.() === 0) return;
    const closed = await ask("read_file", { path: "a" }, { a: "x" });
    chmodSync(join(closed.folder, "a"), 0);
    expect((await closed.answer()).output).toBe("Permission denied: a.");
  });
});

const tree = {
  "README.md": "readme",
  "repo/": "",
  "repo/.gitignore": "out/\n*.log\n",
  "repo/src/a.ts": "const a = 1;\nconst needle = 2;\n",
  "repo/src/deep/b.test.ts": "needle();\n",
  "repo/src/c.js": "",
  "repo/out/built.ts": "needle",
  "repo/x.log": "needle",
  "repo/inner/": "",
  "repo/inner/d.ts": "needle",
  "plain/e.ts": "x needle y\n",
  "plain/-f g.ts": "needle\n",
};

describe("find_files", () => {
  it.each([
    ["*.ts", "plain/-f g.ts\nplain/e.ts\nrepo/inner/d.ts\nrepo/src/a.ts\nrepo/src/deep/b.test.ts"],
    ["repo/src/*.ts", "repo/src/a.ts"],
    ["repo/**/*.ts", "repo/inner/d.ts\nrepo/src/a.ts\nrepo/src/deep/b.test.ts"],
    ["**/{a,e}.?s", "plain/e.ts\nrepo/src/a.ts"],
    ["[!a-d].ts", "plain/e.ts"],
    ["*.md", "README.md"],
    ["*.log", "No file in . matches *.log."],
    ["HEAD", "No file in . matches HEAD."],
    ["a+ts", "No file in . matches a+ts."],
  ])("%s matches files that git does not ignore, sorted", async (pattern, expected) => {
    expect((await answer("find_files", { pattern }, tree)).output).toBe(expected);
  });

  it("searches a folder, also inside a repository", async () => {
    const { output } = await answer("find_files", { pattern: "deep/*.ts", path: "./repo/src/" }, tree);
    expect(output).toBe("repo/src/deep/b.test.ts");
  });

  it("applies .gitignore outside a repository and lists no links", async () => {
    const files = { ".gitignore": "out\n", "out/a.ts": "", "b.ts": "", ".c/d.ts": "", ".ignore": "b.ts" };
    const question = await ask("find_files", { pattern: "*.ts" }, files);
    symlinkSync("/usr", join(question.folder, "link"));
    symlinkSync("b.ts", join(question.folder, "link.ts"));
    expect((await question.answer()).output).toBe(".c/d.ts\nb.ts");
  });

  it("skips deleted files, includes uncommitted ones and searches submodules", async () => {
    const question = await ask("find_files", { pattern: "*.ts", path: "repo" }, tree);
    const commit =
      "git -c advice.addEmbeddedRepo=false add -A . 2> /dev/null && git -c user.name=x -c user.email=x@example.com commit -qm x";
    const repo = join(question.folder, "repo");
    execFileSync("bash", ["-c", commit], { cwd: join(repo, "inner") });
    execFileSync("bash", ["-c", `${commit} && rm src/a.ts && touch '&new.ts'`], { cwd: repo });
    expect((await question.answer()).output).toBe("repo/&new.ts\nrepo/inner/d.ts\nrepo/src/deep/b.test.ts");
  });

  it("limits its result", async () => {
    const question = await ask("find_files", { pattern: "*" });
    execFileSync("bash", ["-c", "touch {1000..1999}"], { cwd: question.folder });
    const lines = (await question.answer()).output.split("\n");
    expect(lines).toHaveLength(501);
    expect(lines.at(-1)).toContain("more files match");
  });

  it.each([
    "$(touch injected)",
    "`touch injected`",
    "'; touch injected; '",
    "-exec",
    "--help",
    "\\",
    "[",
    "{",
    "a{b",
  ])("treats %j only as a pattern", async (pattern) => {
    const question = await ask("find_files", { pattern }, tree);
    const { output, is_error } = await question.answer();
    expect([output, is_error]).toEqual([`No file in . matches ${pattern}.`, undefined]);
    expect(execFileSync("ls", ["-A"], { cwd: question.folder }).toString()).not.toContain("injected");
  });

  it("reports a missing folder", async () => {
    expect(await answer("find_files", { pattern: "*", path: "none" })).toMatchObject({
      is_error: true,
      output: "none does not exist.",
    });
    expect((await answer("find_files", { pattern: "*", path: "a" }, { a: "" })).output).toBe(
      "a is not a folder.",
    );
  });
});

describe("search_files", () => {
  it("redacts lines before it shortens them", async () => {
    const run = await newRun('CALL: search_files {"pattern": "needle"}');
    run.folder.redact = (text) => text.replaceAll("open-sesame", "***");
    await run.folder.write("a", `needle ${"x".repeat(488)}open-sesame\n`);
    await run.turn();
    expect(run.all("tool.returned").at(-1)?.output).toBe(`a\n1: needle ${"x".repeat(488)}***`);
  });

  it("finds lines in files that git does not ignore, sorted", async () => {
    const { output } = await answer("search_files", { pattern: "n\\w+dle" }, tree);
    expect(output).toBe(
      [
        "plain/-f g.ts\n1: needle",
        "plain/e.ts\n1: x needle y",
        "repo/inner/d.ts\n1: needle",
        "repo/src/a.ts\n2: const needle = 2;",
        "repo/src/deep/b.test.ts\n1: needle();",
      ].join("\n\n"),
    );
  });

  it("searches only files whose path matches the glob", async () => {
    const { output } = await answer("search_files", { pattern: "needle", glob: "*.test.ts" }, tree);
    expect(output).toBe("repo/src/deep/b.test.ts\n1: needle();");
    const inFolder = { pattern: "needle", path: "repo", glob: "src/*.ts" };
    expect((await answer("search_files", inFolder, tree)).output).toBe("repo/src/a.ts\n2: const needle = 2;");
  });

  it("searches one file and shows context lines", async () => {
    const a = Array.from({ length: 9 }, (_, index) => `line-${index + 1}:x\n`).join("");
    const { output } = await answer("search_files", { pattern: "line-[28]", path: "a", context: 1 }, { a });
    expect(output).toBe("a\n1- line-1:x\n2: line-2:x\n3- line-3:x\n…\n7- line-7:x\n8: line-8:x\n9- line-9:x");
  });

  it("limits its result and long lines", async () => {
    const a = "needle\n".repeat(500);
    const few = await answer("search_files", { pattern: "needle", max: 3 }, { a });
    expect(few.output).toBe(
      "a\n1: needle\n2: needle\n3: needle\n[3 matches shown, there are more: narrow the search]",
    );
    const long = await answer(
      "search_files",
      { pattern: "needle" },
      { a: `needle${"x".repeat(3_000_000)}\n` },
    );
    expect(long.output.length).toBeLessThan(1_000);
  });

  it("shows the first files by name if there are too many matches", async () => {
    const question = await ask("search_files", { pattern: "needle", max: 2 });
    execFileSync(
      "bash",
      ["-c", `for i in {1000..1400}; do yes 'needle ${"x".repeat(90)}' | head -n 90 > $i; done`],
      {
        cwd: question.folder,
      },
    );
    expect((await question.answer()).output).toMatch(/^1000\n1: needle x+\n2: needle x+\n\[2 matches shown/);
  });

  it("supports look-around and reads files with carriage returns", async () => {
    const { output } = await answer(
      "search_files",
      { pattern: "(?<=x )needle" },
      { a: "x needle\r\nneedle\r\n" },
    );
    expect(output).toBe("a\n1: x needle");
  });

  it("skips binary files", async () => {
    const { output } = await answer("search_files", { pattern: "needle" }, { a: Buffer.from("\0needle\n") });
    expect(output).toBe("No match for needle in ..");
  });

  it("explains an invalid pattern", async () => {
    expect(await answer("search_files", { pattern: "a(b" }, tree)).toMatchObject({
      is_error: true,
      output: expect.stringMatching(/^Invalid pattern: .*parenthes/i),
    });
  });

  it.each(["$(touch injected)", "-f/etc/passwd", "--include=x", "'; touch injected; '", "`touch injected`"])(
    "treats %j only as a pattern, a glob or a path",
    async (text) => {
      for (const input of [{ pattern: text }, { pattern: "x", glob: text }, { pattern: "x", path: text }]) {
        const question = await ask("search_files", input, tree);
        expect((await question.answer()).output).toMatch(/^No match for|does not exist/);
        expect(execFileSync("ls", ["-A"], { cwd: question.folder }).toString()).not.toContain("injected");
      }
    },
  );
});
