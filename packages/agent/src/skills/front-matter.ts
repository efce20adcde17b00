import { parseDocument } from "yaml";
import { messageOf } from "../failure.ts";

/** What a SKILL.md says. */
export interface SkillFile {
  /** Absent where it names itself not at all: then its folder does. */
  name?: string;
  description: string;
  body: string;
}

const NAME_CHARACTERS = 128;
const DESCRIPTION_CHARACTERS = 1_024;

/** The front matter is wrong; the message says how, in a sentence that goes on behind the file's name. */
export class FrontMatterError extends Error {
  override name = "FrontMatterError";
}

export function parseSkill(source: string): SkillFile {
  const text = source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const [whole, yaml = ""] = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/.exec(text) ?? [];
  if (whole === undefined) {
    if (/^---[ \t]*\n/.test(text)) throw new FrontMatterError("has front matter that no line `---` ends");
    return { description: "", body: text.trim() };
  }
  const members = readYaml(yaml);
  const name = textOf(members, "name", NAME_CHARACTERS);
  const description = textOf(members, "description", DESCRIPTION_CHARACTERS) ?? "";
  return { ...(name ? { name } : {}), description, body: text.slice(whole.length).trim() };
}

function readYaml(yaml: string): Record<string, unknown> {
  const document = parseDocument(yaml, { schema: "core", customTags: [], logLevel: "silent" });
  // A tag that is none of the core's is only warned of.
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) throw broken(problem.message);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 20 });
  } catch (error) {
    throw broken(messageOf(error));
  }
  if (value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw broken("it is no map of names to values");
  return value as Record<string, unknown>;
}

function broken(reason: string): FrontMatterError {
  const [line = ""] = reason.split("\n");
  return new FrontMatterError(`has front matter that is not valid YAML: ${line.replace(/:$/, "").trim()}`);
}

function textOf(members: Record<string, unknown>, member: string, most: number): string | undefined {
  const value = Object.hasOwn(members, member) ? members[member] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "object") throw new FrontMatterError(`has a \`${member}\` that is not a text`);
  const text = String(value).trim().replaceAll(/\s+/g, " ");
  if (/\p{Cc}/u.test(text)) throw new FrontMatterError(`has a \`${member}\` with control characters`);
  if ([...text].length > most) {
    throw new FrontMatterError(`has a \`${member}\` of more than ${most} characters`);
  }
  return text === "" ? undefined : text;
}
