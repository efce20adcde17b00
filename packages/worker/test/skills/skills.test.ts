import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { discoverSkills } from "@outrider/agent/skills/discover";
import { chooseSkill } from "@outrider/agent/skills/find-by-name";
import { parseSkillSpec } from "@outrider/agent/skills/spec";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openCommit } from "../../src/repositories/commit-reader.ts";
import { collectSkills } from "../../src/skills/collect-skills.ts";
import { readSkill } from "../../src/skills/read-skill.ts";
import { createTar } from "../../src/skills/tar.ts";
import { git, gitWithInput, makeFolder, Origin } from "../repositories/git-server.ts";

/** Finding skills in repositories by name and by path. */

const { signal } = new AbortController();
let temporary: ReturnType<typeof makeFolder>;
let count = 0;

beforeAll(() => {
  temporary = makeFolder();
});
afterAll(() => temporary.remove());

const skill = (name: string, body = `Body of ${name}.`) =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${body}\n`;

/** Creates a repository with one commit that contains these files and links. */
function repository(files: Record<string, string>, links: Record<string, string> = {}, ...init: string[]) {
  const folder = join(temporary.folder, `acme-${++count}`);
  mkdirSync(folder);
  const origin = new Origin(folder, "tools");
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(join(origin.copy, path, ".."), { recursive: true });
    symlinkSync(target, join(origin.copy, path));
  }
  const commit = origin.push("main", files, ...init);
  return { mirror: origin.bare, commit, url: `file://${origin.bare}`, owner: `acme-${count}` };
}

type Repository = ReturnType<typeof repository>;

const discover = async ({ mirror, commit }: Repository) =>
  (await discoverSkills(openCommit({ mirror, commit, signal }), "tools")).candidates;
const paths = async (from: Repository) => (await discover(from)).map(({ path }) => path);

/** Reads the skill that a run with this spec would use. */
function read(from: Repository, wanted: string, more: { checkout?: string } = {}) {
  const spec = parseSkillSpec(`${from.owner}/tools:${wanted}`);
  return readSkill({ spec, ...from, ...more }, signal);
}

describe("skills are found", () => {
  test("at the root, in the folders of all tools and in catalogs, and not elsewhere", async () => {
    const all = repository({
      "SKILL.md": skill("root"),
      "skills/one/SKILL.md": skill("one"),
      "skills/.curated/two/SKILL.md": skill("two"),
      "skills/one/inner/SKILL.md": skill("part of one"),
      ".agents/skills/three/SKILL.md": skill("three"),
      ".claude/skills/four/SKILL.md": skill("four"),
      ".pi/skills/five/SKILL.md": skill("five"),
      "docs/six/SKILL.md": skill("six"),
      "skills/README.md": "no skill",
      "skills/empty/notes.md": "no skill",
    });
    expect(await paths(all)).toEqual([
      "SKILL.md",
      ".agents/skills/three/SKILL.md",
      ".claude/skills/four/SKILL.md",
      "skills/one/SKILL.md",
      ".pi/skills/five/SKILL.md",
      "skills/.curated/two/SKILL.md",
    ]);
  });

  test("in plugin manifests; invalid manifests are ignored", async () => {
    const plugins = (source: unknown, more = {}) =>
      JSON.stringify({ plugins: [{ name: "p", source, ...more }] });
    const manifest = ".claude-plugin/marketplace.json";
    const listed = { "plugins/p/skills/one/SKILL.md": skill("one"), "odd/two/SKILL.md": skill("two") };
    expect(await paths(repository({ ...listed, [manifest]: plugins("./plugins/p") }))).toEqual([
      "plugins/p/skills/one/SKILL.md",
    ]);
    const named = plugins("./", { skills: ["./odd/two"] });
    expect(await paths(repository({ ...listed, [manifest]: named }))).toContain("odd/two/SKILL.md");
    for (const bad of ["{", "[]", plugins("../.."), plugins({ source: "github" }), plugins("https://x/y")]) {
      expect(await paths(repository({ ...listed, [manifest]: bad }))).toEqual([]);
    }
  });

  test("once if a link points to the same folder", async () => {
    const linked = repository(
      { ".agents/skills/one/SKILL.md": skill("one"), "parts/two/SKILL.md": skill("two") },
      { ".claude/skills": "../.agents/skills", "skills/two": "../parts/two" },
    );
    expect(await paths(linked)).toEqual([".agents/skills/one/SKILL.md", "skills/two/SKILL.md"]);
  });

  test("in a SHA-256 repository", async () => {
    const folder = join(temporary.folder, "sha256.git");
    git("/", "init", "--quiet", "--object-format=sha256", folder);
    mkdirSync(join(folder, "skills/one"), { recursive: true });
    writeFileSync(join(folder, "skills/one/SKILL.md"), skill("one"));
    git(folder, "add", ".");
    git(folder, "commit", "--quiet", "--message", "one");
    const from = {
      mirror: join(folder, ".git"),
      commit: git(folder, "rev-parse", "HEAD"),
      url: "",
      owner: "",
    };
    expect(await paths(from)).toEqual(["skills/one/SKILL.md"]);
  });
});

describe("a skill name", () => {
  test("matches the declared name before the folder name", async () => {
    const both = repository({ "skills/a/SKILL.md": skill("b"), "skills/b/SKILL.md": skill("c") });
    const chosen = (name: string, all: Awaited<ReturnType<typeof discover>>) =>
      chooseSkill(all, name).map(({ path }) => path);
    const all = await discover(both);
    expect(chosen("b", all)).toEqual(["skills/a/SKILL.md"]);
    expect(chosen("c", all)).toEqual(["skills/b/SKILL.md"]);
    expect(chosen("a", all)).toEqual(["skills/a/SKILL.md"]);
    expect(chosen("d", all)).toEqual([]);
  });

  test("prefers a skill outside a catalog", async () => {
    const two = repository({
      "skills/old/x/SKILL.md": skill("x", "old"),
      "skills/x/SKILL.md": skill("x", "new"),
    });
    expect((await read(two, "x")).text.body).toBe("new");
  });

  test("that is ambiguous is rejected with the paths, unless the contents are equal", async () => {
    const files = { "skills/x/SKILL.md": skill("x"), ".agents/skills/x/SKILL.md": skill("x") };
    expect((await read(repository(files), "x")).receipt.path).toBe(".agents/skills/x/SKILL.md");
    const different = repository({ ...files, "skills/x/SKILL.md": skill("x", "other") });
    await expect(read(different, "x")).rejects.toMatchObject({
      code: "skill_invalid",
      message: expect.stringMatching(
        /several skills are named "x": \.agents\/skills\/x\/SKILL\.md, skills\/x\/SKILL\.md/,
      ),
    });
  });

  test("that does not exist is rejected with the location, the commit and the closest names", async () => {
    const from = repository({
      "skills/a/SKILL.md": skill("release-notes"),
      "skills/b/SKILL.md": skill("tests"),
    });
    await expect(read(from, "relase-notes")).rejects.toMatchObject({ code: "skill_not_found" });
    const { message } = await read(from, "relase-notes").catch((error) => error);
    for (const word of [from.url, from.commit.slice(0, 12), '"relase-notes"', "skills", '"release-notes"']) {
      expect(message).toContain(word);
    }
    expect(message).not.toContain('"tests"');
    await expect(read(repository({ "README.md": "x" }), "x")).rejects.toThrow("it contains no skills");
  });
});

describe("a skill path", () => {
  test("selects a skill anywhere, with its files", async () => {
    const from = repository({
      "docs/x/SKILL.md": skill("x"),
      "docs/x/run.sh": "#!/bin/sh\n",
      "docs/x/more/a b.md": "a",
    });
    const { text, receipt, files } = await read(from, "docs/x/SKILL.md");
    expect(text).toEqual({
      name: "x",
      body: "Body of x.",
      folder: "/home/sandbox/skills/x",
      files: ["more/a b.md", "run.sh"],
    });
    expect(receipt).toMatchObject({
      name: "x",
      commit: from.commit,
      path: "docs/x/SKILL.md",
      repository: from.url,
    });
    expect(files?.map(({ path }) => path)).toEqual(["SKILL.md", "more/a b.md", "run.sh"]);
    const inPlace = await read(from, "docs/x/SKILL.md", { checkout: "code/tools" });
    expect(inPlace.text).toEqual({ ...text, folder: "/workspace/code/tools/docs/x" });
    expect(inPlace.files).toBeUndefined();
  });

  test("that does not exist is rejected with the closest ones", async () => {
    const from = repository({ "skills/x/SKILL.md": skill("x") });
    await expect(read(from, "skill/x/SKILL.md")).rejects.toThrow(
      'there is no skill/x/SKILL.md; closest matches: "skills/x/SKILL.md"',
    );
  });

  test("uses the folder's name if the skill has none", async () => {
    expect(
      (await read(repository({ "skills/x/SKILL.md": "Just do it." }), "skills/x/SKILL.md")).receipt.name,
    ).toBe("x");
  });
});

test("a skill with invalid front matter is read, by name and by path, and says what was wrong", async () => {
  const from = repository({ "skills/x/SKILL.md": "---\ndescription: one: two\n---\nDo it." });
  for (const wanted of ["x", "skills/x/SKILL.md"]) {
    const { text, problems } = await read(from, wanted);
    expect(text.body).toBe("Do it.");
    expect(problems).toEqual([
      expect.stringMatching(/: skills\/x\/SKILL\.md has front matter that is not valid YAML \(.*\.$/),
    ]);
  }
});

describe("rejects", () => {
  test.each([
    ["SKILL.md is such a link", { "skills/x/SKILL.md": "../../../../etc/passwd" }],
    ["SKILL.md is a link to an absolute path", { "skills/x/SKILL.md": "/etc/passwd" }],
    ["its folder is such a link", { "skills/x": "../../outside" }],
  ])("a link that points outside the repository: %s", async (_, links) => {
    const from = repository({ "README.md": "x" }, links);
    const refusal = {
      code: "skill_invalid",
      message: expect.stringContaining("points outside the repository"),
    };
    await expect(read(from, "skills/x/SKILL.md")).rejects.toMatchObject(refusal);
    await expect(read(from, "x")).rejects.toMatchObject(refusal);
  });

  test("a skill file that is such a link", async () => {
    const from = repository({ "skills/x/SKILL.md": skill("x") }, { "skills/x/data": "../../../etc" });
    await expect(read(from, "x")).rejects.toThrow(
      "contains a symbolic link that points outside its repository: skills/x/data",
    );
  });

  test("circular links, as a missing file", async () => {
    const from = repository({ "README.md": "x" }, { "skills/x/SKILL.md": "SKILL.md" });
    await expect(read(from, "skills/x/SKILL.md")).rejects.toThrow("there is no skills/x/SKILL.md");
  });

  test("a SKILL.md over the size limit", async () => {
    const from = repository({ "skills/x/SKILL.md": skill("x", "x".repeat(300_000)) });
    await expect(read(from, "x")).rejects.toMatchObject({
      code: "skill_invalid",
      message: expect.stringMatching(/has 300\d+ bytes; the limit is 262144/),
    });
  });

  test("a skill with too many files", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 1_001 }, (_, index) => [`skills/x/${index}`, `${index}`]),
    );
    const from = repository({ "skills/x/SKILL.md": skill("x"), ...many });
    await expect(read(from, "x")).rejects.toMatchObject({
      code: "skill_invalid",
      message: expect.stringContaining("Add its repository to the run's environment instead"),
    });
    expect((await read(from, "x", { checkout: "tools" })).text.name).toBe("x");
  });

  test("a skill with folders that contain each other until there are billions of them", async () => {
    const { mirror, url, owner } = repository({ "README.md": "x" });
    const makeTree = (lines: string[]) => gitWithInput(mirror, `${lines.join("\n")}\n`, "mktree");
    const blob = gitWithInput(mirror, skill("x"), "hash-object", "-w", "--stdin");
    let tree = makeTree([`100644 blob ${blob}\tfile`]);
    for (let level = 0; level < 8; level++) {
      tree = makeTree(Array.from({ length: 100 }, (_, index) => `040000 tree ${tree}\t${index}`));
    }
    const folder = makeTree([`100644 blob ${blob}\tSKILL.md`, `040000 tree ${tree}\tmore`]);
    const skills = makeTree([`040000 tree ${folder}\tx`]);
    const root = makeTree([`040000 tree ${skills}\tskills`]);
    const from = { mirror, url, owner, commit: git(mirror, "commit-tree", root, "-m", "trees") };
    await expect(read(from, "x")).rejects.toThrow("has more than 1000 files, 1000 folders or 10 levels");
    expect((await read(from, "x", { checkout: "tools" })).text.files).toEqual([]);
  });

  test("a repository with a folder that takes long to parse", async () => {
    const { mirror, url, owner } = repository({ "README.md": "x" });
    const blob = gitWithInput(mirror, "x", "hash-object", "-w", "--stdin");
    const names = Array.from({ length: 40_000 }, (_, index) => `${"x".repeat(200)}${index}`);
    const input = names.map((name) => `100644 blob ${blob}\t${name}\n`).join("");
    const tree = gitWithInput(mirror, input, "mktree");
    const from = { mirror, url, owner, commit: git(mirror, "commit-tree", tree, "-m", "names") };
    await expect(read(from, "x")).rejects.toMatchObject({
      code: "skill_invalid",
      message: expect.stringMatching(/take up \d+ bytes, and the limit is 8388608/),
    });
  });
});

test("a folder that many paths lead to is parsed once", async () => {
  const { mirror, commit } = repository({ "a/file": "x", "b/file": "x" });
  const [first, second] = await openCommit({ mirror, commit, signal }).read(["a", "b"], { maxBytes: 0 });
  if (first?.type !== "folder" || second?.type !== "folder") throw new Error("not folders");
  expect(first.entries).toBe(second.entries);
});

test("a build lists each skill with a spec that selects it", async () => {
  const from = repository({
    "skills/one/SKILL.md": skill("one"),
    "skills/two words/SKILL.md": skill("two words"),
    "skills/x/SKILL.md": skill("x"),
    ".agents/skills/x/SKILL.md": skill("x", "another"),
    "skills/lenient/SKILL.md": "---\nname: lenient\ndescription: Use it when: asked.\n---\n",
  });
  const skills = await collectSkills([from], signal);
  expect(skills).toEqual([
    { name: "x", description: "About x.", skill_spec: `${from.owner}/tools:.agents/skills/x/SKILL.md` },
    { name: "lenient", description: "Use it when: asked.", skill_spec: `${from.owner}/tools:lenient` },
    { name: "one", description: "About one.", skill_spec: `${from.owner}/tools:one` },
    { name: "x", description: "About x.", skill_spec: `${from.owner}/tools:skills/x/SKILL.md` },
  ]);
  for (const { skill_spec, name } of skills) {
    expect((await read(from, skill_spec.split(":")[1] as string)).receipt.name).toBe(name);
  }
});

test("a build lists only what the server accepts: short names, and the beginning of long descriptions", async () => {
  const from = repository({
    [`skills/${"x".repeat(200)}/SKILL.md`]: "Do it.",
    "skills/long/SKILL.md": `---\nname: long\ndescription: ${"\u{1f600}".repeat(600)}\n---\nDo it.`,
    "skills/good/SKILL.md": skill("good"),
  });
  const skills = await collectSkills([from], signal);
  expect(skills.map(({ name }) => name)).toEqual(["good", "long"]);
  expect(skills[1]?.description).toBe(`${"\u{1f600}".repeat(511)}…`);
});

test("tar unpacks a skill's archive, including long names and modes", () => {
  const long = `${"a-long-name/".repeat(20)}file.txt`;
  const tar = createTar([
    { path: "run.sh", data: Buffer.from("#!/bin/sh\n"), isExecutable: true },
    { path: long, data: Buffer.alloc(700, "x"), isExecutable: false },
    { path: "ünï.md", data: Buffer.alloc(0), isExecutable: false },
  ]);
  const folder = join(temporary.folder, "unpacked");
  mkdirSync(folder);
  writeFileSync(join(temporary.folder, "skill.tar"), tar);
  const listed = execFileSync("tar", ["-C", folder, "-xvvf", join(temporary.folder, "skill.tar")], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C.UTF-8" },
  });
  expect(listed).toMatch(/-rwxr-xr-x.* 10 .* run\.sh\n/);
  expect(readFileSync(join(folder, long), "utf8")).toBe("x".repeat(700));
  expect(readFileSync(join(folder, "ünï.md"), "utf8")).toBe("");
});
