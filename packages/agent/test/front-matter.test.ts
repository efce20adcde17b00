import { describe, expect, it } from "vitest";
import { parseSkill } from "../src/skills/front-matter.ts";
import { isRepository, parseSkillSpec, repositoryName } from "../src/skills/spec.ts";

const skill = (yaml: string, body = "Do it.") => `---\n${yaml}\n---\n\n${body}\n`;

describe("a SKILL.md", () => {
  it.each([
    ["with name and description", skill("name: notes\ndescription: Writes notes.")],
    [
      "with a byte order mark and CRLF line endings",
      `\uFEFF${skill("name: notes\ndescription: Writes notes.").replaceAll("\n", "\r\n")}`,
    ],
    [
      "with unknown fields",
      skill("name: notes\nlicense: MIT\nmetadata:\n  a: b\ndescription: >\n  Writes\n  notes."),
    ],
  ])("is parsed %s", (_, text) => {
    expect(parseSkill(text)).toEqual({
      name: "notes",
      description: "Writes notes.",
      body: "Do it.",
      problems: [],
    });
  });

  it("needs no front matter", () => {
    expect(parseSkill("# Notes\n")).toEqual({ description: "", body: "# Notes", problems: [] });
    expect(parseSkill("---\n---\nDo it.")).toEqual({ description: "", body: "Do it.", problems: [] });
  });

  it("keeps a line of dashes in its body", () => {
    expect(parseSkill(skill("name: a", "one\n\n---\n\ntwo")).body).toBe("one\n\n---\n\ntwo");
  });

  it("may have a number as its name", () => {
    expect(parseSkill(skill("name: 7")).name).toBe("7");
  });

  const long = "Extracts text and tables from PDF files, fills forms, and merges documents. "
    .repeat(27)
    .trim();
  it.each([
    [
      "an unquoted colon",
      "name: notes\ndescription: Use when: the user asks for notes (e.g. changelogs: all of them)",
      "Use when: the user asks for notes (e.g. changelogs: all of them)",
    ],
    [
      "an unquoted colon in text over several lines",
      "name: notes\ndescription: Writes notes. TRIGGER when: asked\n  for notes. SKIP: code.\nlicense: MIT",
      "Writes notes. TRIGGER when: asked for notes. SKIP: code.",
    ],
    ["tabs", "name:\tnotes\ndescription: one\n\ttwo: three\nmetadata:\n\tname: inner", "one two: three"],
    ["repeated keys", "name: other\nname: notes\ndescription: one\ndescription: two", "two"],
    [
      "quotation marks within the text",
      'name: notes\ndescription: "Notes" for you: all',
      '"Notes" for you: all',
    ],
    ["text after quotation marks", 'name: "notes"\ndescription: "one" "two"', 'one" "two'],
    [
      "a text that begins with an indicator",
      "name: notes\ndescription: `notes` and @mentions",
      "`notes` and @mentions",
    ],
    [
      "text without indentation",
      "name: notes\ndescription: one: two\nthree 🎉 four",
      "one: two three 🎉 four",
    ],
    ["a block after an invalid line", "name: notes\nbad: a: b\ndescription: |\n  one\n  two", "one two"],
    ["a custom tag", "name: notes\ndescription: !ruby/object:Kernel x", "!ruby/object:Kernel x"],
    ["JavaScript", "name: notes\ndescription: !!js/function 'f'", "!!js/function 'f'"],
    ["deep nesting", `name: notes\nkey: ${"[".repeat(400)}`, ""],
    ["too many levels", `name: notes\nkey: ${"[".repeat(600)}`, ""],
    ["too many lines", `${"key:\n".repeat(300)}name: notes\ndescription: late`, "late"],
    ["too many characters", `key: ${"x".repeat(9_000)}\nname: notes`, ""],
    [
      "exponential aliases",
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\nname: notes`,
      "",
    ],
  ])("is read with %s, and says what is wrong", (_, yaml, description) => {
    const parsed = parseSkill(skill(yaml));
    expect(parsed).toMatchObject({ name: "notes", description, body: "Do it." });
    expect(parsed.problems).toEqual([
      expect.stringMatching(/^has front matter (that is not valid YAML \(|with more)/),
    ]);
  });

  it.each([
    ["a list", "- a\n- b", "not valid YAML (it is not a mapping)"],
    [
      "a name that is not a string",
      "name: [a, b]",
      "has a `name` that is not a string; the name of its folder",
    ],
    [
      "a name that is too long",
      `name: ${"x".repeat(129)}`,
      "has a `name` of more than 128 characters; the name",
    ],
    ["a description that is not a string", "description: [a]", "has a `description` that is not a string"],
  ])("is read without the field for %s", (_, yaml, problem) => {
    const { problems, ...rest } = parseSkill(skill(yaml));
    expect(rest).toEqual({ description: "", body: "Do it." });
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it("has a long description cut, also if its YAML is valid", () => {
    for (const yaml of [`description: ${long}`, `description: >-\n  ${long}`, `description: a: ${long}`]) {
      const { description, problems } = parseSkill(skill(yaml));
      expect(description).toMatch(/^(a: )?Extracts text .*…$/);
      expect(description.length).toBeLessThanOrEqual(1_024);
      expect(problems.at(-1)).toMatch(
        /^has a `description` of 20\d\d characters; only the first 1024 are used$/,
      );
    }
    const emoji = parseSkill(skill(`description: x${"\u{1f600}".repeat(600)}`)).description;
    expect(emoji).toBe(`x${"\u{1f600}".repeat(511)}…`);
  });

  it("loses control characters in its fields", () => {
    expect(parseSkill(skill('name: "a\\u0007b"')).name).toBe("a b");
  });

  it("is read up to the first empty line if its front matter has no end", () => {
    const parsed = parseSkill("---\nname: notes\ndescription: one: two\n\n# Title\n\nDo it.");
    expect(parsed).toMatchObject({ name: "notes", description: "one: two", body: "# Title\n\nDo it." });
    expect(parsed.problems[0]).toContain("without a closing `---` line");
  });

  it("may begin with empty lines and have any line endings", () => {
    const text = "\r\n---\rname: notes\r---\rDo it.\r";
    expect(parseSkill(text)).toEqual({ name: "notes", description: "", body: "Do it.", problems: [] });
  });
});

describe("a skill_spec", () => {
  it("names a skill, or the path of its file", () => {
    expect(parseSkillSpec("acme/skills:notes")).toMatchObject({
      owner: "acme",
      repo: "skills",
      name: "notes",
      label: "notes",
    });
    const byPath = parseSkillSpec("acme/skills:.agents/skills/notes/SKILL.md");
    expect(byPath).toMatchObject({ path: ".agents/skills/notes/SKILL.md", label: "notes" });
    expect(byPath.name).toBeUndefined();
    expect(parseSkillSpec("acme/skills:SKILL.md").label).toBe("skills");
  });

  it.each([
    "https://github.com/Acme/skills.git",
    "https://git.example:8443/group/acme/skills",
    "git@github.com:acme/skills.git",
    "ssh://git@github.com/acme/Skills",
    "file:///srv/acme/skills.git",
  ])("matches %s", (url) => {
    expect(isRepository(url, parseSkillSpec("acme/skills:notes"))).toBe(true);
  });

  it("does not match a repository with a similar name", () => {
    const spec = parseSkillSpec("acme/skills:notes");
    expect(isRepository("https://github.com/evil-acme/skills", spec)).toBe(false);
    expect(isRepository("https://acme/skills", spec)).toBe(false);
    expect(repositoryName("https://github.com/skills")).toBeUndefined();
  });
});
