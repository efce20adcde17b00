/**
 * Parses a Dockerfile. The file is part of a repository, so it is hostile: its size, its counts and the growth of its
 * variables are bounded, and it is read in linear time. What a sandbox cannot do is refused with the number of the line.
 */
import { Failure } from "@outrider/agent/failure";
import { ImageReference } from "@outrider/contract/image";
import { architectureOf } from "../images/manifest.ts";
import { type Instruction, notStarted, readInstruction } from "./instructions.ts";
import {
  InstructionError,
  MAX_FILE_BYTES,
  type RawInstruction,
  splitInstructions,
} from "./split-instructions.ts";
import { expandWord } from "./words.ts";

const MAX_STAGES = 50;

/** Files come from an image, or from an earlier stage by its index. */
export type Source = { image: string } | { stage: number };

export interface Stage {
  index: number;
  /** The line of its FROM. */
  line: number;
  name: string | undefined;
  base: Source;
  instructions: Instruction[];
  /** What `COPY --from` and mounts name, by its text. */
  sources: Map<string, Source>;
}

export interface Dockerfile {
  path: string;
  escapeCharacter: string;
  /** The stages that the target needs, in order. The last one is the target. */
  stages: Stage[];
  /** Values of arguments for stages that declare them without a default. */
  globalArgs: Map<string, string>;
  /** The values that the environment sets. */
  args: Record<string, string>;
  notices: string[];
}

interface ParseOptions {
  path: string;
  target?: string | undefined;
  args?: Record<string, string> | undefined;
}

export function parseDockerfile(text: string, { path, target, args = {} }: ParseOptions): Dockerfile {
  return explainProblems(path, () => {
    if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw new Error("The file is larger than 256 KiB.");
    if (text.includes("\0") || !text.isWellFormed()) throw new Error("The file is not text.");
    const { escapeCharacter, instructions } = splitInstructions(text);
    const globals = new Map<string, string>(Object.entries(platformArgs()));
    const stages = readStages(instructions, { escapeCharacter, globals, args });
    const last = target === undefined ? stages.at(-1) : findStage(stages, target);
    if (!last && target !== undefined) throw new Error(`The file has no stage ${target.slice(0, 100)}.`);
    if (!last) throw new Error("The file has no FROM.");
    const needed = neededStages(stages, last);
    const notices = [...unusedNotices(instructions, args), ...notStartedNotices(last)];
    return {
      ...{ path, escapeCharacter, stages: needed, globalArgs: globals, args },
      notices: notices.map((notice) => `${path}: ${notice}`),
    };
  });
}

/** Adds the name of the file and the line to an error. */
export function explainProblems<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof Failure) throw error;
    const place = error instanceof InstructionError ? `${path} line ${error.line}` : path;
    throw new Failure("environment_setup_failed", `${place}: ${(error as Error).message}`);
  }
}

/** Runs an action for an instruction, whose line becomes part of its error. */
export function atLine<T>(line: number, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof InstructionError || error instanceof Failure
      ? error
      : new InstructionError(line, (error as Error).message);
  }
}

function platformArgs(): Record<string, string> {
  const architecture = architectureOf();
  const platform = `linux/${architecture}`;
  return {
    ...{ TARGETPLATFORM: platform, TARGETOS: "linux", TARGETARCH: architecture, TARGETVARIANT: "" },
    ...{ BUILDPLATFORM: platform, BUILDOS: "linux", BUILDARCH: architecture, BUILDVARIANT: "" },
  };
}

interface StageOptions {
  escapeCharacter: string;
  /** Receives the arguments before the first FROM. */
  globals: Map<string, string>;
  args: Record<string, string>;
}

function readStages(
  instructions: RawInstruction[],
  { escapeCharacter, globals, args }: StageOptions,
): Stage[] {
  const stages: Stage[] = [];
  const lookup = (name: string) => globals.get(name);
  for (const raw of instructions) {
    const { line, name } = raw;
    const stage = stages.at(-1);
    if (name === "FROM") {
      const expand = (word: string) => expandWord(word, { escapeCharacter, lookup });
      stages.push(atLine(line, () => readFrom(raw, stages, expand)));
      if (stages.length > MAX_STAGES)
        throw new InstructionError(line, `The file has more than ${MAX_STAGES} stages.`);
      continue;
    }
    const instruction = atLine(line, () => readInstruction(raw, escapeCharacter));
    if (stage) {
      stage.instructions.push(instruction);
      for (const from of sourcesOf(instruction))
        stage.sources.set(from, readSource(from, stages.slice(0, -1), line));
    } else if (instruction.type === "arg") {
      for (const [arg, word] of instruction.pairs) {
        const value =
          args[arg] ?? (word && atLine(line, () => expandWord(word, { escapeCharacter, lookup })));
        if (value !== undefined) globals.set(arg, value);
      }
    } else throw new InstructionError(line, `${name.slice(0, 50)} is before the first FROM.`);
  }
  return stages;
}

/** Returns the stages and images whose files an instruction uses. */
function sourcesOf(instruction: Instruction): string[] {
  const users =
    instruction.type === "copy" ? [instruction] : instruction.type === "run" ? instruction.mounts : [];
  return users.flatMap((user) => ("from" in user && user.from !== undefined ? [user.from] : []));
}

function readFrom({ line, text }: RawInstruction, earlier: Stage[], expand: (word: string) => string): Stage {
  const words = text.split(/\s+/);
  const flags = words.filter((word) => word.startsWith("--"));
  const [base = "", as, name, ...others] = words.filter((word) => !word.startsWith("--"));
  const isNamed = as?.toUpperCase() === "AS" && name !== undefined && others.length === 0;
  if (base === "" || (as !== undefined && !isNamed))
    throw new InstructionError(line, "FROM must have the form FROM image AS name.");
  if (name !== undefined && !/^[A-Za-z][A-Za-z0-9_.-]{0,127}$/.test(name))
    throw new InstructionError(line, `${name.slice(0, 100)} is not a valid name of a stage.`);
  for (const flag of flags) requirePlatform(expand(flag), line);
  const source = readSource(expand(base), earlier, line);
  return {
    index: earlier.length,
    line,
    name: name?.toLowerCase(),
    base: source,
    instructions: [],
    sources: new Map(),
  };
}

function requirePlatform(flag: string, line: number): void {
  const [name, platform = ""] = flag.split("=");
  if (name !== "--platform")
    throw new InstructionError(line, `FROM ${name?.slice(0, 50)} is not supported: remove it.`);
  const own = `linux/${architectureOf()}`;
  if (platform !== own && !platform.startsWith(`${own}/`))
    throw new InstructionError(
      line,
      `This worker only runs images for ${own}, not for ${platform.slice(0, 100)}.`,
    );
}

function findStage(stages: Stage[], name: string): Stage | undefined {
  const byName = stages.findLast((stage) => stage.name === name.toLowerCase());
  return byName ?? (/^\d{1,3}$/.test(name) ? stages[Number(name)] : undefined);
}

function readSource(text: string, earlier: Stage[], line: number): Source {
  const stage = findStage(earlier, text);
  if (stage) return { stage: stage.index };
  if (text === "scratch")
    throw new InstructionError(line, "FROM scratch is not supported: commands need a system. Name an image.");
  const reference = ImageReference.safeParse(text);
  if (reference.success) return { image: reference.data };
  const shown =
    text === "" ? "The image is empty: give its ARG a default" : `"${text.slice(0, 200)}" is not an image`;
  throw new InstructionError(line, `${shown}, or set it in \`args\` of \`dockerfile\`.`);
}

function neededStages(stages: Stage[], last: Stage): Stage[] {
  const needed = new Set<Stage>();
  const pending = [last];
  for (let stage = pending.pop(); stage; stage = pending.pop()) {
    if (needed.has(stage)) continue;
    needed.add(stage);
    for (const source of [stage.base, ...stage.sources.values()])
      if ("stage" in source) pending.push(stages[source.stage] as Stage);
  }
  return [...needed].sort((a, b) => a.index - b.index);
}

function unusedNotices(instructions: RawInstruction[], args: Record<string, string>): string[] {
  const declared = instructions.filter(({ name }) => name === "ARG").map(({ text }) => text);
  return Object.keys(args)
    .filter((name) => !declared.some((text) => new RegExp(`(^|\\s)${name}(=|\\s|$)`).test(text)))
    .map((name) => `no ARG declares \`${name}\`, so it has no effect.`);
}

function notStartedNotices({ instructions }: Stage): string[] {
  const found = new Set(
    instructions.flatMap((each) =>
      each.type === "ignored" && notStarted.includes(each.name) ? [each.name] : [],
    ),
  );
  return found.size === 0
    ? []
    : [`${[...found].join(", ")} has no effect: start services in \`start_commands\`.`];
}
