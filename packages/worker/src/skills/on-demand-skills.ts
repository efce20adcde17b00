import { Failure } from "@outrider/agent/failure";
import type { ListedSkill } from "@outrider/agent/instructions/skill-list";
import type { SkillText } from "@outrider/agent/instructions/skill-text";
import { isRepository, parseSkillSpec } from "@outrider/agent/skills/spec";
import type { CheckedOutRepository, RunReceipt } from "@outrider/contract/run";
import type { FoundSkill } from "@outrider/contract/skill";
import type { Assignment } from "@outrider/contract/worker";
import type { Redactor } from "../redaction/redact.ts";
import { closestNames } from "../repositories/closest-names.ts";
import type { Repositories } from "../repositories/repository.ts";
import type { PreparedRun } from "../run/prepare.ts";
import { collectSkills } from "./collect-skills.ts";
import { type RunSkill, readSkill } from "./read-skill.ts";
import { accessOf, resolveSkillSource } from "./resolve-skill.ts";

type UsedSkill = NonNullable<RunReceipt["skills_used"]>[number];

interface Options {
  assignment: Assignment;
  prepared: PreparedRun | undefined;
  repositories: Repositories;
  redactor: Redactor;
  signal: AbortSignal;
  /** Makes the files of a skill available in the sandbox. */
  install(skill: RunSkill): Promise<void>;
  emitNotice(notice: { code: string; message: string }): void;
  /** Called when the agent has loaded a skill, after which `used` contains it. */
  onUsed(): void;
}

/** The skills of a run's repositories, which the agent loads when it needs them. */
export class OnDemandSkills {
  readonly #options: Options;
  readonly #specs: ReadonlyMap<string, string>;
  readonly #used = new Map<string, UsedSkill>();
  readonly listed: readonly ListedSkill[];

  private constructor(options: Options, skills: readonly FoundSkill[]) {
    const { assignment, redactor } = options;
    this.#options = options;
    for (const skill of assignment.receipt?.skills_used ?? []) this.#used.set(skill.skill_spec, skill);
    const isUnique = ({ name }: FoundSkill) => skills.filter((other) => other.name === name).length === 1;
    const named = skills.map((skill) => ({
      ...skill,
      name: isUnique(skill) ? skill.name : skill.skill_spec,
    }));
    this.#specs = new Map(named.map(({ name, skill_spec }) => [name, skill_spec]));
    // Redacted here, because the instructions contain only the beginning of a long description.
    this.listed = named.map(({ name, description }) => ({ name, description: redactor.redact(description) }));
  }

  /** Lists the skills of a run's repositories. A failure produces a notice and no skills. */
  static async list(options: Options): Promise<OnDemandSkills> {
    const { skill_spec } = options.assignment.agent_config;
    const skills = await listSkills(options).catch((error: Error) => {
      options.signal.throwIfAborted();
      options.emitNotice({ code: "skill", message: `Cannot list the skills: ${error.message}` });
      return [];
    });
    // The instructions already contain the run's own skill.
    return new OnDemandSkills(
      options,
      skills.filter((skill) => skill.skill_spec !== skill_spec),
    );
  }

  /** The skills that the agent has loaded so far, including those of earlier turns. */
  get used(): UsedSkill[] {
    return [...this.#used.values()];
  }

  /** Loads a skill. Rejects with a message for the model if that is not possible. */
  async load(name: string, signal: AbortSignal): Promise<SkillText> {
    const { assignment, prepared, repositories, install, emitNotice, onUsed } = this.#options;
    const spec = this.#specs.get(name);
    if (spec === undefined) throw new Error(unknownMessage(name, [...this.#specs.keys()]));
    const checkedOut = prepared?.repositories ?? [];
    const skill = await resolveSkillSource(spec, { assignment, checkedOut, repositories, signal })
      .then((source) => readSkill(source, signal))
      .catch((error: unknown) => {
        // A problem of one skill does not end the turn.
        throw error instanceof Failure ? new Error(error.message) : error;
      });
    await install(skill);
    for (const message of skill.problems) emitNotice({ code: "skill", message });
    this.#used.set(spec, skill.receipt);
    onUsed();
    return skill.text;
  }
}

/** Returns the build's skills. For repositories whose branch has moved since the build, the mirrors are searched. */
async function listSkills({ assignment, prepared, repositories, signal }: Options): Promise<FoundSkill[]> {
  if (!prepared) return [];
  const { build } = prepared;
  const hasMoved = ({ url, path, commit }: CheckedOutRepository) =>
    build.repositories.some((built) => built.url === url && built.path === path && built.commit !== commit);
  const moved = await Promise.all(
    prepared.repositories.filter(hasMoved).map(async (repository) => {
      const { url, commit } = repository;
      const mirror = await repositories.find({ url, ...accessOf(assignment, repository) }, commit, {
        signal,
      });
      // Without a mirror, the build's list is close enough, and fetching the repository can take minutes.
      return mirror ? [{ url, commit, mirror }] : [];
    }),
  );
  const sources = moved.flat();
  const isCurrent = ({ skill_spec }: FoundSkill) =>
    !sources.some(({ url }) => isRepository(url, parseSkillSpec(skill_spec)));
  return [...(build.skills ?? []).filter(isCurrent), ...(await collectSkills(sources, signal))];
}

function unknownMessage(name: string, names: string[]): string {
  const close = closestNames(name, names, 5);
  const hint = close.length > 0 ? ` Similar names: ${close.map((other) => `"${other}"`).join(", ")}.` : "";
  return `There is no skill "${name}".${hint}`;
}
