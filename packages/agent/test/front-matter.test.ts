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
    expect(parseSkill(text)).toEqual({ name: "notes", description: "Writes notes.", body: "Do it." });
  });

  it("needs no front matter", () => {
    expect(parseSkill("# Notes\n")).toEqual({ description: "", body: "# Notes" });
    expect(parseSkill("---\n---\nDo it.")).toEqual({ description: "", body: "Do it." });
  });

  it("keeps a line of dashes in its body", () => {
    expect(parseSkill(skill("name: a", "one\n\n---\n\ntwo")).body).toBe("one\n\n---\n\ntwo");
  });

  it("may have a number as its name", () => {
    expect(parseSkill(skill("name: 7")).name).toBe("7");
  });

  it.each([
    ["invalid YAML", "description: one: two", "not valid YAML"],
    ["a custom tag", "name: !ruby/object:Kernel x", "not valid YAML"],
    ["JavaScript", "name: !!js/function 'function () {}'", "not valid YAML"],
    ["a list", "- a\n- b", "not valid YAML"],
    ["a name that is not a string", "name: [a, b]", "has a `name` that is not a string"],
    ["a name that is too long", `name: ${"x".repeat(129)}`, "has a `name` of more than 128 characters"],
    ["a name with control characters", 'name: "a\\u0007b"', "has a `name` with control characters"],
    ["deep nesting", `name: ${"[".repeat(400)}`, "not valid YAML"],
    ["too many characters", `key: ${"x".repeat(9_000)}`, "has front matter of more than 8192 characters"],
    ["too many lines", "key:\n".repeat(300), "has front matter of more than 200 lines"],
    ["too many levels", `key: ${"[".repeat(600)}`, "has front matter with more than 500 characters with a"],
    ["too many keys in a line", `{${"a:,".repeat(300)}}`, "has front matter with more than 500 characters"],
    [
      "exponential aliases",
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]`,
      "not valid YAML",
    ],
  ])("is rejected with %s", (_, yaml, message) => {
    expect(() => parseSkill(skill(yaml))).toThrow(message);
  });

  it("is rejected if its front matter has no end", () => {
    expect(() => parseSkill("---\nname: a\n")).toThrow("without a closing `---` line");
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
