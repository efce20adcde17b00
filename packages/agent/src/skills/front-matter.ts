import { parseDocument } from "yaml";
import { messageOf } from "../failure.ts";

/** The parsed content of a SKILL.md. */
export interface SkillFile {
  /** If absent, the folder's name is used. */
  name?: string;
  description: string;
  body: string;
}

/** Long enough for any metadata. */
const MAX_FRONT_MATTER_CHARACTERS = 8 * 1024;
/** The time that the YAML parser needs grows with the square of the number of keys, and with the number of errors. */
const MAX_FRONT_MATTER_LINES = 200;
const MAX_FRONT_MATTER_INDICATORS = 500;
const MAX_NAME_CHARACTERS = 128;
const MAX_DESCRIPTION_CHARACTERS = 1_024;

/** Thrown for invalid front matter. The message completes a sentence that begins with the file's path. */
export class FrontMatterError extends Error {
  override name = "FrontMatterError";
}

export function parseSkill(source: string): SkillFile {
  const text = source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const [frontMatter, yaml = ""] = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/.exec(text) ?? [];
  if (frontMatter === undefined) {
    if (/^---[ \t]*\n/.test(text))
      throw new FrontMatterError("has front matter without a closing `---` line");
    return { description: "", body: text.trim() };
  }
  if (yaml.length > MAX_FRONT_MATTER_CHARACTERS)
    throw new FrontMatterError(`has front matter of more than ${MAX_FRONT_MATTER_CHARACTERS} characters`);
  if (yaml.split("\n").length > MAX_FRONT_MATTER_LINES)
    throw new FrontMatterError(`has front matter of more than ${MAX_FRONT_MATTER_LINES} lines`);
  if ((yaml.match(/[[\]{},:&*!?\t-]/g) ?? []).length > MAX_FRONT_MATTER_INDICATORS) {
    const limit = `${MAX_FRONT_MATTER_INDICATORS} characters with a meaning in YAML`;
    throw new FrontMatterError(`has front matter with more than ${limit}, such as \`:\` and \`[\``);
  }
  const fields = parseYaml(yaml);
  const name = textField(fields, "name", MAX_NAME_CHARACTERS);
  const description = textField(fields, "description", MAX_DESCRIPTION_CHARACTERS) ?? "";
  return { ...(name ? { name } : {}), description, body: text.slice(frontMatter.length).trim() };
}

function parseYaml(yaml: string): Record<string, unknown> {
  let value: unknown;
  try {
    // The parser overflows the stack if the text is nested deeply enough.
    const document = parseDocument(yaml, { schema: "core", customTags: [], logLevel: "silent" });
    // Warnings are treated as errors, because a tag outside the core schema produces only a warning.
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) throw problem;
    value = document.toJS({ maxAliasCount: 20 });
  } catch (error) {
    throw invalidYaml(messageOf(error));
  }
  if (value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw invalidYaml("it is not a mapping");
  return value as Record<string, unknown>;
}

function invalidYaml(reason: string): FrontMatterError {
  const [line = ""] = reason.split("\n");
  return new FrontMatterError(`has front matter that is not valid YAML: ${line.replace(/:$/, "").trim()}`);
}

function textField(
  fields: Record<string, unknown>,
  field: string,
  maxCharacters: number,
): string | undefined {
  const value = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "object") throw new FrontMatterError(`has a \`${field}\` that is not a string`);
  const text = String(value).trim().replaceAll(/\s+/g, " ");
  if (/\p{Cc}/u.test(text)) throw new FrontMatterError(`has a \`${field}\` with control characters`);
  if (text.length > maxCharacters) {
    throw new FrontMatterError(`has a \`${field}\` of more than ${maxCharacters} characters`);
  }
  return text === "" ? undefined : text;
}
