/**
 * Model families: what Outrider does differently for some models. Each file in `families/` describes one family. Its
 * front matter selects the models and their tools, and its text is added to the prompt. The file `default.md` applies to
 * all models that no other file selects.
 */

import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import type { Tool } from "../tools/tool.ts";

const FrontMatter = z.strictObject({
  /** Patterns of model IDs, in which `*` stands for any text. Case does not matter. */
  models: z.array(z.string().min(1)).min(1),
  /** Names of built-in tools that these models do not get. */
  without_tools: z.array(z.string()).default([]),
  /** Whether the text replaces the general prompt. Otherwise, it is added to it. */
  replaces_prompt: z.boolean().default(false),
  /** Whether `write_file` may replace a file that the agent has not read. */
  overwrites_unread_files: z.boolean().default(false),
});

export interface Family extends z.infer<typeof FrontMatter> {
  name: string;
  prompt: string;
}

const DEFAULT = "default";
const folder = new URL("./families/", import.meta.url);

const families = readdirSync(folder)
  .filter((file) => file.endsWith(".md"))
  .map((file) => readFamily(file.slice(0, -".md".length)));
const defaultFamily = readFamily(DEFAULT);
/** All patterns, the longest first. */
const patterns = families
  .flatMap((family) => family.models.map((pattern) => ({ family, pattern, regExp: toRegExp(pattern) })))
  .sort((a, b) => b.pattern.length - a.pattern.length);

function readFamily(name: string): Family {
  const [, header = "", prompt = ""] =
    /^---\n(.*?)\n---\n(.*)$/s.exec(readFileSync(new URL(`${name}.md`, folder), "utf8")) ?? [];
  return { name, ...FrontMatter.parse(parse(header)), prompt: prompt.trim() };
}

/** Returns the family of a model. If several match, the one with the longest pattern is used. */
export function familyOf(modelId: string): Family {
  return patterns.find(({ regExp }) => regExp.test(modelId))?.family ?? defaultFamily;
}

/** Returns the tools that a model of this family gets. */
export function familyTools<T extends Pick<Tool, "name">>(
  { without_tools }: Family,
  tools: readonly T[],
): T[] {
  return tools.filter(({ name }) => !without_tools.includes(name));
}

function toRegExp(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "is");
}
