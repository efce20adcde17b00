import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { familyOf, familyTools } from "../src/instructions/family.ts";
import { builtinTools } from "../src/tools/builtin.ts";

const editingTools = (model: string) =>
  familyTools(familyOf(model), builtinTools)
    .map(({ name }) => name)
    .filter((name) => /edit|patch/.test(name));

describe("a model's family", () => {
  it.each([
    ["gpt-5.2-codex", "gpt"],
    ["openai/gpt-5", "gpt"],
    ["o3", "gpt"],
    ["azure/o4-mini", "gpt"],
    ["claude-opus-4-5", "claude"],
    ["us.anthropic.claude-sonnet-4-5-v1:0", "claude"],
    ["google/Gemini-3-pro", "gemini"],
    ["scripted", "scripted"],
    ["deepseek-reasoner", "default"],
    ["o", "default"],
  ])("of %s is %s", (model, family) => {
    expect(familyOf(model).name).toBe(family);
  });

  it("determines how it edits files", () => {
    expect(editingTools("gpt-5")).toEqual(["apply_patch"]);
    expect(editingTools("claude-opus-4-5")).toEqual(["edit_file"]);
    expect(editingTools("deepseek-chat")).toEqual(["edit_file"]);
    expect(editingTools("scripted")).toEqual(["edit_file", "apply_patch"]);
  });

  it("names only tools that exist", () => {
    const names = new Set(builtinTools.map(({ name }) => name));
    const files = readdirSync(new URL("../src/instructions/families/", import.meta.url));
    expect(files).toContain("default.md");
    for (const file of files) {
      const { without_tools, prompt } = familyOf(file === "default.md" ? "any" : exampleOf(file));
      expect(without_tools.filter((name) => !names.has(name))).toEqual([]);
      for (const [, tool] of prompt.matchAll(/`((?:apply|edit|find|read|run|search|write)_[a-z]+)`/g)) {
        expect(names).toContain(tool);
        expect(without_tools).not.toContain(tool);
      }
    }
  });
});

const exampleOf = (file: string) => (file === "scripted.md" ? "scripted" : `${file.slice(0, -3)}-5`);
