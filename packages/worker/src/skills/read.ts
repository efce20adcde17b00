import { posix } from "node:path";
import { Failure, messageOf } from "@outrider/agent/failure";
import type { SkillText } from "@outrider/agent/instructions/skill";
import { chooseSkill } from "@outrider/agent/skills/choose";
import type { CommitFiles } from "@outrider/agent/skills/commit-files";
import { type Discovered, discoverSkills, problemOf, SKILL_BYTES } from "@outrider/agent/skills/discover";
import { parseSkill } from "@outrider/agent/skills/front-matter";
import type { RunReceipt } from "@outrider/contract/run";
import { openCommit } from "../repositories/commit-files.ts";
import { nearest } from "../repositories/nearest.ts";
import { own } from "../sandboxes/bubblewrap.ts";
import { skillFolder } from "./put.ts";
import type { SkillSource } from "./resolve.ts";
import { listSupporting, readSupporting, type SupportingFile } from "./supporting.ts";

/** A run's skill, read whole. */
export interface RunSkill {
  text: SkillText;
  receipt: NonNullable<RunReceipt["skill"]>;
  /** To be put into `text.folder`; absent where they lie in the workspace. */
  files?: SupportingFile[];
}

/** Rejects with a Failure that says what was looked for, where, and what comes nearest to it. */
export async function readSkill(source: SkillSource, signal: AbortSignal): Promise<RunSkill> {
  const { spec, url, commit, mirror, checkout } = source;
  const files = openCommit({ mirror, commit, signal });
  const path = source.path ?? spec.path ?? (await findByName(files, source));
  const [found] = await files.look([path], { maxBytes: SKILL_BYTES });
  if (found?.type === "missing" || !found) throw await missing(files, source, path);
  if (found.type !== "file") throw refused(source, `${path} ${problemOf(found)}`);
  const { name, body } = parsed(found.data, source, path);
  const folder = posix.dirname(path) === "." ? "" : posix.dirname(path);
  const receipt = { skill_spec: spec.text, name: name ?? spec.label, repository: url, commit, path };
  if (checkout !== undefined) {
    // At the root, the skill's folder is the repository.
    const named = folder === "" ? [] : await listSupporting(files, folder);
    const place = posix.join(own.workspace, checkout, folder);
    return { text: { name: receipt.name, body, folder: place, files: named }, receipt };
  }
  const supporting = await readSupporting(files, folder, spec.text);
  const named = supporting.map((file) => file.path).filter((one) => one !== "SKILL.md");
  const place = skillFolder(spec.label);
  return { text: { name: receipt.name, body, folder: place, files: named }, receipt, files: supporting };
}

function parsed(data: Buffer, source: SkillSource, path: string) {
  try {
    return parseSkill(data.toString());
  } catch (error) {
    throw refused(source, `${path} ${messageOf(error)}`);
  }
}

async function findByName(files: CommitFiles, source: SkillSource): Promise<string> {
  const { spec } = source;
  const name = spec.name as string;
  const discovered = await discoverSkills(files, spec.repo);
  const chosen = chooseSkill(discovered.candidates, name);
  const [one] = chosen;
  if (!one) throw unknown(source, discovered, name);
  if (chosen.length > 1) {
    const paths = chosen.map(({ path }) => path).join(", ");
    throw refused(source, `several skills are called "${name}": ${paths}; name the one you mean by its path`);
  }
  if (one.problem !== undefined) throw refused(source, `${one.path} ${one.problem}`);
  return one.path;
}

function unknown(source: SkillSource, { candidates, places }: Discovered, name: string): Failure {
  const names = candidates.map((candidate) => candidate.name);
  return refused(
    source,
    `no skill "${name}" is among ${places.join(", ")}${hint(nearest(name, names, 3), names)}`,
  );
}

async function missing(files: CommitFiles, source: SkillSource, path: string): Promise<Failure> {
  const { candidates } = await discoverSkills(files, source.spec.repo);
  const paths = candidates.map((candidate) => candidate.path);
  return refused(source, `there is no ${path}${hint(nearest(path, paths, 3), paths)}`);
}

function hint(close: string[], all: string[]): string {
  if (all.length === 0) return "; no skill was found there at all";
  const shown = close.length > 0 ? close : [...all].sort().slice(0, 5);
  return `; ${close.length > 0 ? "the nearest are" : "there are"} ${shown.map((one) => `"${one}"`).join(", ")}`;
}

function refused({ spec, url, commit }: SkillSource, reason: string): Failure {
  return new Failure(
    "skill_not_found",
    `The skill ${spec.text} cannot be used. In ${url} at ${commit.slice(0, 12)}, ${reason}.`,
  );
}
