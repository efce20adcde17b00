import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chooseSkill } from "@outrider/agent/skills/choose";
import { discoverSkills } from "@outrider/agent/skills/discover";
import { parseSkillSpec } from "@outrider/agent/skills/spec";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openCommit } from "../src/repositories/commit-files.ts";
import { collectSkills } from "../src/skills/collect.ts";
import { readSkill } from "../src/skills/read.ts";
import { tarOf } from "../src/skills/tar.ts";
import { git, makeFolder, Origin } from "./git-server.ts";

/** Skills as they lie in repositories: what is found by name and by path, and what is refused. */

const { signal } = new AbortController();
let place: ReturnType<typeof makeFolder>;
let count = 0;

beforeAll(() => {
  place = makeFolder();
});
afterAll(() => place.remove());

const skill = (name: string, body = `Body of ${name}.`) =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${body}\n`;

/** A repository with these files and links, as a commit in a folder that git reads. */
function repository(files: Record<string, string>, links: Record<string, string> = {}, ...init: string[]) {
  const folder = join(place.folder, `acme-${++count}`);
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

/** What a run gets whose spec names this skill of the repository. */
function read(from: Repository, wanted: string, more: { checkout?: string } = {}) {
  const spec = parseSkillSpec(`${from.owner}/tools:${wanted}`);
  return readSkill({ spec, ...from, ...more }, signal);
}

describe("skills are found", () => {
  test("at the root, in the folders of all tools, in catalogues, and not elsewhere", async () => {
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

  test("where a list of plugins says they are, and a list of nonsense does no harm", async () => {
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

  test("once, where a link shows the same folder under another name", async () => {
    const linked = repository(
      { ".agents/skills/one/SKILL.md": skill("one"), "parts/two/SKILL.md": skill("two") },
      { ".claude/skills": "../.agents/skills", "skills/two": "../parts/two" },
    );
    expect(await paths(linked)).toEqual([".agents/skills/one/SKILL.md", "skills/two/SKILL.md"]);
  });

  test("in a repository with ids of the other kind", async () => {
    const folder = join(place.folder, "sha256.git");
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

describe("a name", () => {
  test("means the skill that calls itself so, before one whose folder is called so", async () => {
    const both = repository({ "skills/a/SKILL.md": skill("b"), "skills/b/SKILL.md": skill("c") });
    const chosen = (name: string, all: Awaited<ReturnType<typeof discover>>) =>
      chooseSkill(all, name).map(({ path }) => path);
    const all = await discover(both);
    expect(chosen("b", all)).toEqual(["skills/a/SKILL.md"]);
    expect(chosen("c", all)).toEqual(["skills/b/SKILL.md"]);
    expect(chosen("a", all)).toEqual(["skills/a/SKILL.md"]);
    expect(chosen("d", all)).toEqual([]);
  });

  test("means the one above a catalogue where both have it", async () => {
    const two = repository({
      "skills/old/x/SKILL.md": skill("x", "old"),
      "skills/x/SKILL.md": skill("x", "new"),
    });
    expect((await read(two, "x")).text.body).toBe("new");
  });

  test("that several have is refused with their paths, unless they are the same text", async () => {
    const files = { "skills/x/SKILL.md": skill("x"), ".agents/skills/x/SKILL.md": skill("x") };
    expect((await read(repository(files), "x")).receipt.path).toBe(".agents/skills/x/SKILL.md");
    const different = repository({ ...files, "skills/x/SKILL.md": skill("x", "other") });
    await expect(read(different, "x")).rejects.toMatchObject({
      code: "skill_not_found",
      message: expect.stringMatching(
        /several skills are called "x": \.agents\/skills\/x\/SKILL\.md, skills\/x\/SKILL\.md/,
      ),
    });
  });

  test("that none has is refused with the place, the commit and the nearest names", async () => {
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
    await expect(read(repository({ "README.md": "x" }), "x")).rejects.toThrow(
      "no skill was found there at all",
    );
  });
});

describe("a path", () => {
  test("leads to a skill anywhere, with its files", async () => {
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

  test("that leads nowhere is refused with the nearest ones", async () => {
    const from = repository({ "skills/x/SKILL.md": skill("x") });
    await expect(read(from, "skill/x/SKILL.md")).rejects.toThrow(
      'there is no skill/x/SKILL.md; the nearest are "skills/x/SKILL.md"',
    );
  });

  test("gives the folder's name where the skill has none", async () => {
    expect(
      (await read(repository({ "skills/x/SKILL.md": "Just do it." }), "skills/x/SKILL.md")).receipt.name,
    ).toBe("x");
  });
});

describe("what is refused", () => {
  test.each([
    ["SKILL.md is such a link", { "skills/x/SKILL.md": "../../../../etc/passwd" }],
    ["SKILL.md is a link to an absolute path", { "skills/x/SKILL.md": "/etc/passwd" }],
    ["its folder is such a link", { "skills/x": "../../outside" }],
  ])("a link that leads out of the repository: %s", async (_, links) => {
    const from = repository({ "README.md": "x" }, links);
    const refusal = {
      code: "skill_not_found",
      message: expect.stringContaining("leads out of the repository"),
    };
    await expect(read(from, "skills/x/SKILL.md")).rejects.toMatchObject(refusal);
    await expect(read(from, "x")).rejects.toMatchObject(refusal);
  });

  test("a file of a skill that is such a link", async () => {
    const from = repository({ "skills/x/SKILL.md": skill("x") }, { "skills/x/data": "../../../etc" });
    await expect(read(from, "x")).rejects.toThrow(
      "has a link that leads out of its repository: skills/x/data",
    );
  });

  test("links in a circle, as a file that is not there", async () => {
    const from = repository({ "README.md": "x" }, { "skills/x/SKILL.md": "SKILL.md" });
    await expect(read(from, "skills/x/SKILL.md")).rejects.toThrow("there is no skills/x/SKILL.md");
  });

  test("broken front matter, by name and by path, with what is wrong", async () => {
    const from = repository({ "skills/x/SKILL.md": "---\ndescription: one: two\n---\nx" });
    for (const wanted of ["x", "skills/x/SKILL.md"]) {
      await expect(read(from, wanted)).rejects.toThrow(
        "skills/x/SKILL.md has front matter that is not valid YAML",
      );
    }
  });

  test("a SKILL.md that is too large to be a prompt", async () => {
    const from = repository({ "skills/x/SKILL.md": skill("x", "x".repeat(300_000)) });
    await expect(read(from, "x")).rejects.toThrow(/has 300\d+ bytes; at most 262144 are read/);
  });

  test("more files than a skill should bring along, which an environment may have", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 1_001 }, (_, index) => [`skills/x/${index}`, `${index}`]),
    );
    const from = repository({ "skills/x/SKILL.md": skill("x"), ...many });
    await expect(read(from, "x")).rejects.toThrow("Add its repository to the run's environment instead");
    expect((await read(from, "x", { checkout: "tools" })).text.name).toBe("x");
  });
});

test("a build lists each skill by a spec that means it", async () => {
  const from = repository({
    "skills/one/SKILL.md": skill("one"),
    "skills/two words/SKILL.md": skill("two words"),
    "skills/x/SKILL.md": skill("x"),
    ".agents/skills/x/SKILL.md": skill("x", "another"),
    "skills/broken/SKILL.md": "---\na: b: c\n---\n",
  });
  const skills = await collectSkills([from], signal);
  expect(skills).toEqual([
    { name: "x", description: "About x.", skill_spec: `${from.owner}/tools:.agents/skills/x/SKILL.md` },
    { name: "one", description: "About one.", skill_spec: `${from.owner}/tools:one` },
    { name: "x", description: "About x.", skill_spec: `${from.owner}/tools:skills/x/SKILL.md` },
  ]);
  for (const { skill_spec, name } of skills) {
    expect((await read(from, skill_spec.split(":")[1] as string)).receipt.name).toBe(name);
  }
});

test("a skill's files are packed so that tar unpacks them, long names and rights too", () => {
  const long = `${"a-long-name/".repeat(20)}file.txt`;
  const tar = tarOf([
    { path: "run.sh", data: Buffer.from("#!/bin/sh\n"), isProgram: true },
    { path: long, data: Buffer.alloc(700, "x"), isProgram: false },
    { path: "ünï.md", data: Buffer.alloc(0), isProgram: false },
  ]);
  const folder = join(place.folder, "unpacked");
  mkdirSync(folder);
  writeFileSync(join(place.folder, "skill.tar"), tar);
  const listed = execFileSync("tar", ["-C", folder, "-xvvf", join(place.folder, "skill.tar")], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C.UTF-8" },
  });
  expect(listed).toMatch(/-rwxr-xr-x.* 10 .* run\.sh\n/);
  expect(readFileSync(join(folder, long), "utf8")).toBe("x".repeat(700));
  expect(readFileSync(join(folder, "ünï.md"), "utf8")).toBe("");
});
