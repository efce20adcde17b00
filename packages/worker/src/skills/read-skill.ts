import { posix } from "node:path";
import { Failure } from "@outrider/agent/failure";
import type { SkillText } from "@outrider/agent/instructions/skill-text";
import type { CommitReader } from "@outrider/agent/skills/commit-reader";
import {
  type DiscoveredSkills,
  describeProblem,
  discoverSkills,
  MAX_SKILL_BYTES,
} from "@outrider/agent/skills/discover";
import { chooseSkill } from "@outrider/agent/skills/find-by-name";
import { parseSkill } from "@outrider/agent/skills/front-matter";
import type { RunReceipt } from "@outrider/contract/run";
import { closestNames } from "../repositories/closest-names.ts";
import { openCommit } from "../repositories/commit-reader.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";
import { skillFolder } from "./install-skill.ts";
import type { SkillSource } from "./resolve-skill.ts";
import { listSupportingFiles, readSupportingFiles, type SupportingFile } from "./supporting-files.ts";

/** A run's skill and the files that it needs. */
export interface RunSkill {
  text: SkillText;
  receipt: NonNullable<RunReceipt["skill"]>;
  /** Files to write to `text.folder`. Undefined if they are already in the workspace. */
  files?: SupportingFile[];
  /** What Outrider had to correct in order to read the skill, for notices. */
  problems: string[];
}

/** Reads a skill. Rejects with a Failure that says what was not found and where, and lists the closest matches. */
export async function readSkill(source: SkillSource, signal: AbortSignal): Promise<RunSkill> {
  const { spec, url, commit, mirror, checkout } = source;
  const files = openCommit({ mirror, commit, signal });
  const path = source.path ?? spec.path ?? (await findByName(files, source));
  const [found] = await files.read([path], { maxBytes: MAX_SKILL_BYTES });
  if (found?.type === "missing" || !found) throw await missingFailure(files, source, path);
  if (found.type !== "file") throw invalidFailure(source, `${path} ${describeProblem(found)}`);
  const parsed = parseSkill(found.data.toString());
  const { name, body } = parsed;
  const problems = parsed.problems.map((problem) => `The skill ${spec.text}: ${path} ${problem}.`);
  const folder = posix.dirname(path) === "." ? "" : posix.dirname(path);
  const receipt = { skill_spec: spec.text, name: name ?? spec.label, repository: url, commit, path };
  if (checkout !== undefined) {
    // A skill at the root shares its folder with the whole repository, so its files are not listed.
    const fileNames = folder === "" ? [] : await listSupportingFiles(files, folder);
    const target = posix.join(sandboxPaths.workspace, checkout, folder);
    return { text: { name: receipt.name, body, folder: target, files: fileNames }, receipt, problems };
  }
  const supporting = await readSupportingFiles(files, folder, spec.text);
  const fileNames = supporting.map((file) => file.path).filter((name) => name !== "SKILL.md");
  const target = skillFolder(spec.label);
  return {
    text: { name: receipt.name, body, folder: target, files: fileNames },
    receipt,
    problems,
    files: supporting,
  };
}

async function findByName(files: CommitReader, source: SkillSource): Promise<string> {
  const { spec } = source;
  const name = spec.name as string;
  const discovered = await discoverSkills(files, spec.repo);
  const chosen = chooseSkill(discovered.candidates, name);
  const [skill] = chosen;
  if (!skill) throw unknownFailure(source, discovered, name);
  if (chosen.length > 1) {
    const paths = chosen.map(({ path }) => path).join(", ");
    throw invalidFailure(source, `several skills are named "${name}": ${paths}; select one by its path`);
  }
  if (skill.problem !== undefined) throw invalidFailure(source, `${skill.path} ${skill.problem}`);
  return skill.path;
}

function unknownFailure(
  source: SkillSource,
  { candidates, searched }: DiscoveredSkills,
  name: string,
): Failure {
  const names = candidates.map((candidate) => candidate.name);
  return notFoundFailure(
    source,
    `there is no skill "${name}" in ${searched.join(", ")}${hint(closestNames(name, names, 3), names)}`,
  );
}

async function missingFailure(files: CommitReader, source: SkillSource, path: string): Promise<Failure> {
  const { candidates } = await discoverSkills(files, source.spec.repo);
  const paths = candidates.map((candidate) => candidate.path);
  return notFoundFailure(source, `there is no ${path}${hint(closestNames(path, paths, 3), paths)}`);
}

function hint(close: string[], all: string[]): string {
  if (all.length === 0) return "; it contains no skills";
  const shown = close.length > 0 ? close : [...all].sort().slice(0, 5);
  return `; ${close.length > 0 ? "closest matches:" : "available:"} ${shown.map((name) => `"${name}"`).join(", ")}`;
}

function notFoundFailure(source: SkillSource, reason: string): Failure {
  return new Failure("skill_not_found", failureMessage(source, reason));
}

/** Returns the failure for a skill that exists but cannot be used. */
function invalidFailure(source: SkillSource, reason: string): Failure {
  return new Failure("skill_invalid", failureMessage(source, reason));
}

function failureMessage({ spec, url, commit }: SkillSource, reason: string): string {
  return `Cannot use the skill ${spec.text}. In ${url} at ${commit.slice(0, 12)}, ${reason}.`;
}
