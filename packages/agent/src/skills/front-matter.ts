import { parseDocument } from "yaml";
import { messageOf } from "../failure.ts";
import { readLines } from "./front-matter-lines.ts";

/** The parsed content of a SKILL.md. */
export interface SkillFile {
  /** If absent, the folder's name is used. */
  name?: string;
  description: string;
  body: string;
  /** What was wrong with the front matter. Each text completes a sentence that begins with the file's path. */
  problems: string[];
}

/** Long enough for any metadata. */
const MAX_YAML_CHARACTERS = 8 * 1024;
/** The time that the YAML parser needs grows with the square of the number of keys, and with the number of errors. */
const MAX_YAML_LINES = 200;
const MAX_YAML_INDICATORS = 500;
const MAX_NAME_CHARACTERS = 128;
export const MAX_DESCRIPTION_CHARACTERS = 1_024;

/**
 * Parses a SKILL.md. Never throws: many published skills have front matter that is not valid YAML, and their text is
 * usable nevertheless. If the YAML parser rejects the front matter, its lines are read instead.
 */
export function parseSkill(source: string): SkillFile {
  const text = source
    .replace(/^\uFEFF/, "")
    .replaceAll(/\r\n?/g, "\n")
    .replace(/^\s*\n(?=---[ \t]*\n)/, "");
  const problems: string[] = [];
  const { yaml, body } = split(text, problems);
  const fields = yaml === undefined ? {} : readFields(yaml, problems);
  const name = nameField(fields.name, problems);
  const description = descriptionField(fields.description, problems);
  return { ...(name ? { name } : {}), description, body: body.trim(), problems };
}

function split(text: string, problems: string[]): { yaml?: string; body: string } {
  if (!/^---[ \t]*\n/.test(text)) return { body: text };
  const start = text.indexOf("\n") + 1;
  const end = /^---[ \t]*$/m.exec(text.slice(start));
  if (end) {
    return {
      yaml: text.slice(start, start + end.index),
      body: text.slice(start + end.index + end[0].length),
    };
  }
  problems.push("has front matter without a closing `---` line; it was read up to the first empty line");
  const emptyLine = /^[ \t]*$/m.exec(text.slice(start));
  const length = emptyLine?.index ?? text.length - start;
  return { yaml: text.slice(start, start + length), body: text.slice(start + length) };
}

type Fields = { name?: unknown; description?: unknown };

function readFields(yaml: string, problems: string[]): Fields {
  const limit = findExcess(yaml);
  if (limit !== undefined) {
    problems.push(`has front matter with more than ${limit}; only its name and description were read`);
    return readLines(yaml);
  }
  const parsed = parseYaml(yaml);
  if (typeof parsed !== "string") return parsed;
  problems.push(`has front matter that is not valid YAML (${parsed}); it was read line by line`);
  return readLines(yaml);
}

function findExcess(yaml: string): string | undefined {
  if (yaml.length > MAX_YAML_CHARACTERS) return `${MAX_YAML_CHARACTERS} characters`;
  if (yaml.split("\n").length > MAX_YAML_LINES) return `${MAX_YAML_LINES} lines`;
  const indicators = yaml.match(/[[\]{},:&*!?\t-]/g)?.length ?? 0;
  return indicators > MAX_YAML_INDICATORS
    ? `${MAX_YAML_INDICATORS} characters with a meaning in YAML, such as \`:\` and \`[\``
    : undefined;
}

/** Returns the fields, or the reason why there are none. */
function parseYaml(yaml: string): Fields | string {
  try {
    // The parser overflows the stack if the text is nested deeply enough.
    const document = parseDocument(yaml, { schema: "core", customTags: [], logLevel: "silent" });
    // Warnings are treated as errors, because a tag outside the core schema produces only a warning.
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) return firstLine(problem.message);
    const value: unknown = document.toJS({ maxAliasCount: 20 });
    if (value === null) return {};
    if (typeof value === "object" && !Array.isArray(value)) return value as Fields;
    return "it is not a mapping";
  } catch (error) {
    return firstLine(messageOf(error));
  }
}

function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").replace(/:$/, "").trim().slice(0, 200);
}

function nameField(value: unknown, problems: string[]): string | undefined {
  if (value === undefined || value === null) return undefined;
  const text = typeof value === "object" ? undefined : oneLine(String(value));
  if (text !== undefined && [...text].length <= MAX_NAME_CHARACTERS) return text;
  const problem =
    text === undefined ? "that is not a string" : `of more than ${MAX_NAME_CHARACTERS} characters`;
  problems.push(`has a \`name\` ${problem}; the name of its folder is used instead`);
  return undefined;
}

function descriptionField(value: unknown, problems: string[]): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object") {
    problems.push("has a `description` that is not a string; it is ignored");
    return "";
  }
  const text = oneLine(String(value));
  if (text.length <= MAX_DESCRIPTION_CHARACTERS) return text;
  const cut = text.slice(0, MAX_DESCRIPTION_CHARACTERS - 1).replace(/[\uD800-\uDBFF]$/, "");
  problems.push(
    `has a \`description\` of ${text.length} characters; only the first ${MAX_DESCRIPTION_CHARACTERS} are used`,
  );
  return `${cut.trimEnd()}…`;
}

/** Replaces line breaks and control characters, because names and descriptions are shown in lists. */
function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}
