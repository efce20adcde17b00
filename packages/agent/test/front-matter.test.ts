import { describe, expect, it } from "vitest";
import { parseSkill } from "../src/skills/front-matter.ts";
import { isRepository, parseSkillSpec, repositoryName } from "../src/skills/spec.ts";

const skill = (yaml: string, body = "Do it.") => `---\n${yaml}\n---\n\n${body}\n`;

describe("a SKILL.md", () => {
  it.each([
    ["as most are", skill("name: notes\ndescription: Writes notes.")],
    [
      "with a mark of its encoding and line ends of Windows",
      `\uFEFF${skill("name: notes\ndescription: Writes notes.").replaceAll("\n", "\r\n")}`,
    ],
    [
      "with members that mean nothing to us",
      skill("name: notes\nlicense: MIT\nmetadata:\n  a: b\ndescription: >\n  Writes\n  notes."),
    ],
  ])("is read %s", (_, text) => {
    expect(parseSkill(text)).toEqual({ name: "notes", description: "Writes notes.", body: "Do it." });
  });

  it("needs no front matter", () => {
    expect(parseSkill("# Notes\n")).toEqual({ description: "", body: "# Notes" });
    expect(parseSkill("---\n---\nDo it.")).toEqual({ description: "", body: "Do it." });
  });

  it("keeps a line of dashes in its body", () => {
    expect(parseSkill(skill("name: a", "one\n\n---\n\ntwo")).body).toBe("one\n\n---\n\ntwo");
  });

  it("may call itself by a number", () => {
    expect(parseSkill(skill("name: 7")).name).toBe("7");
  });

  it.each([
    ["YAML that is broken", "description: one: two", "not valid YAML"],
    ["a tag of somebody's own", "name: !ruby/object:Kernel x", "not valid YAML"],
    ["JavaScript", "name: !!js/function 'function () {}'", "not valid YAML"],
    ["a list", "- a\n- b", "not valid YAML"],
    ["a name that is no text", "name: [a, b]", "has a `name` that is not a text"],
    ["a name that nobody could read", `name: ${"x".repeat(129)}`, "has a `name` of more than 128 characters"],
    ["a name with control characters", 'name: "a\\u0007b"', "has a `name` with control characters"],
    [
      "aliases that grow without end",
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]`,
      "not valid YAML",
    ],
  ])("is refused with %s", (_, yaml, message) => {
    expect(() => parseSkill(skill(yaml))).toThrow(message);
  });

  it("is refused where nothing ends its front matter", () => {
    expect(() => parseSkill("---\nname: a\n")).toThrow("no line `---` ends");
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
  ])("means %s where an environment has it", (url) => {
    expect(isRepository(url, parseSkillSpec("acme/skills:notes"))).toBe(true);
  });

  it("does not mean another repository that only ends alike", () => {
    const spec = parseSkillSpec("acme/skills:notes");
    expect(isRepository("https://github.com/evil-acme/skills", spec)).toBe(false);
    expect(isRepository("https://acme/skills", spec)).toBe(false);
    expect(repositoryName("https://github.com/skills")).toBeUndefined();
  });
});
