/** The instructions that change files or settings, and those that are refused or have no effect in a sandbox. */

import { type RunMount, readMounts } from "./mounts.ts";
import { type Heredoc, InstructionError, type RawInstruction } from "./split-instructions.ts";
import { splitWords } from "./words.ts";

interface Common {
  line: number;
  /** Its beginning, for the build log. */
  title: string;
}

export interface RunInstruction extends Common {
  type: "run";
  /** Words of a program, or a script for the shell. */
  command: string[] | { script: string };
  hasHeredocs: boolean;
  mounts: RunMount[];
}

export interface CopyInstruction extends Common {
  type: "copy";
  /** ADD unpacks archives. */
  unpacks: boolean;
  sources: string[];
  target: string;
  files: Heredoc[];
  /** A stage or an image. Undefined for the build context. */
  from: string | undefined;
  owner: string | undefined;
  mode: string | undefined;
}

export type Instruction =
  | RunInstruction
  | CopyInstruction
  | (Common & { type: "env"; pairs: [name: string, value: string][] })
  | (Common & { type: "arg"; pairs: [name: string, value: string | undefined][] })
  | (Common & { type: "workdir" | "user"; value: string })
  | (Common & { type: "shell"; words: string[] })
  | (Common & { type: "ignored"; name: string });

const TITLE_CHARACTERS = 200;
const MAX_WORDS = 1_000;
/** Neither changes files nor the environment of commands. */
const ignored = ["LABEL", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "MAINTAINER", "VOLUME", "CMD", "ENTRYPOINT"];
/** What people expect to be started. A notice says that it is not. */
export const notStarted = ["CMD", "ENTRYPOINT", "VOLUME"];

export function readInstruction(raw: RawInstruction, escapeCharacter: string): Instruction {
  const { line, name } = raw;
  const common = { line, title: titleOf(raw) };
  if (ignored.includes(name)) return { ...common, type: "ignored", name };
  if (raw.text === "") throw new InstructionError(line, `${name} has no arguments.`);
  switch (name) {
    case "RUN":
      return { ...common, ...readRun(raw) };
    case "COPY":
    case "ADD":
      return { ...common, ...readCopy(raw) };
    case "ENV":
      return { ...common, type: "env", pairs: readPairs(raw, escapeCharacter) };
    case "ARG":
      return { ...common, type: "arg", pairs: readArguments(raw, escapeCharacter) };
    case "WORKDIR":
      return { ...common, type: "workdir", value: raw.text };
    case "USER":
      return { ...common, type: "user", value: raw.text };
    case "SHELL":
      return { ...common, type: "shell", words: readShell(raw) };
    case "ONBUILD":
      throw new InstructionError(line, "ONBUILD is not supported: write the instruction where it is needed.");
    default:
      throw new InstructionError(line, `The instruction ${name.slice(0, 50)} is not known.`);
  }
}

function titleOf({ name, text }: RawInstruction): string {
  const title = `${name} ${text}`.replaceAll(/\s+/g, " ").trim();
  return title.length > TITLE_CHARACTERS ? `${title.slice(0, TITLE_CHARACTERS)}…` : title;
}

interface Flags {
  flags: [name: string, value: string][];
  /** What follows the flags. */
  rest: string;
}

function readFlags({ line, name, text }: RawInstruction, known: string[]): Flags {
  const flags: [string, string][] = [];
  let rest = text;
  for (;;) {
    const [whole, flag, value = ""] = /^--([a-z-]+)(?:=(\S*))?(?:\s+|$)/.exec(rest) ?? [];
    if (whole === undefined || flag === undefined) break;
    if (!known.includes(flag))
      throw new InstructionError(
        line,
        `${name} --${flag} is not supported: ${refusedFlags[flag] ?? "remove it."}`,
      );
    flags.push([flag, value]);
    rest = rest.slice(whole.length);
  }
  return { flags, rest };
}

const refusedFlags: Record<string, string> = {
  network: "the environment's `network` applies to all commands.",
  security: "sandboxes are never privileged.",
  device: "sandboxes have no devices.",
  parents: "name the target folder of each file.",
  exclude: "list the files in .dockerignore.",
  checksum: "use RUN curl and sha256sum.",
  "keep-git-dir": "use RUN git clone.",
  unpack: "use RUN tar.",
};

function readRun(raw: RawInstruction): Omit<RunInstruction, keyof Common> {
  const { flags, rest } = readFlags(raw, ["mount"]);
  const mounts = readMounts(
    flags.map(([, value]) => value),
    raw.line,
  );
  const words = readJson(rest);
  const hasHeredocs = raw.heredocs.length > 0;
  if (words) return { type: "run", command: words, hasHeredocs, mounts };
  if (rest === "") throw new InstructionError(raw.line, "RUN has no command.");
  const [only] = raw.heredocs.length === 1 ? raw.heredocs : [];
  const isOnlyHeredoc = only !== undefined && /^\d*<<-?\S+$/.test(rest);
  const script = isOnlyHeredoc ? only.content : raw.script.slice(raw.text.length - rest.length);
  return { type: "run", command: { script }, hasHeredocs, mounts };
}

function readCopy(raw: RawInstruction): Omit<CopyInstruction, keyof Common> {
  const { line, name, heredocs } = raw;
  const known = ["chown", "chmod", "link", ...(name === "COPY" ? ["from"] : [])];
  const { flags, rest } = readFlags(raw, known);
  const flag = (wanted: string) => flags.findLast(([each]) => each === wanted)?.[1];
  const words = readJson(rest) ?? rest.split(/\s+/);
  const target = words.at(-1) ?? "";
  const isHeredoc = (word: string) => heredocs.length > 0 && /^\d*<<-?\S+$/.test(word);
  const sources = words.slice(0, -1).filter((word) => !isHeredoc(word));
  const count = sources.length + heredocs.length;
  if (count === 0 || words.length > MAX_WORDS)
    throw new InstructionError(line, `${name} needs between 1 and ${MAX_WORDS} sources and a target.`);
  if (count > 1 && !/[/.]$/.test(target))
    throw new InstructionError(
      line,
      `${name} has several sources, so its target must be a folder and end with /.`,
    );
  const remote = sources.find((source) => /^(https?|git|ssh):\/\/|^git@/i.test(source));
  if (remote !== undefined)
    throw new InstructionError(
      line,
      `${name} does not download ${remote.slice(0, 200)}: use RUN curl or RUN git.`,
    );
  const from = flag("from");
  const type = "copy" as const;
  const options = { from, owner: flag("chown"), mode: flag("chmod") };
  return { type, unpacks: name === "ADD", sources, target, files: heredocs, ...options };
}

/** Returns undefined if the text is not a JSON list of words. Docker then reads it as plain words too. */
function readJson(text: string): string[] | undefined {
  if (!text.startsWith("[")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const isWords =
      Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === "string");
    return isWords ? value : undefined;
  } catch {
    return undefined;
  }
}

function readShell(raw: RawInstruction): string[] {
  const words = readJson(raw.text);
  if (words) return words;
  throw new InstructionError(raw.line, 'SHELL must be a JSON list such as ["/bin/bash", "-c"].');
}

/** `ENV NAME=value …`, or the old `ENV NAME value`, whose value is the rest of the line. */
function readPairs({ line, text }: RawInstruction, escapeCharacter: string): [string, string][] {
  const words = splitWords(text, escapeCharacter);
  const [first = ""] = words;
  if (!first.includes("=")) {
    const value = text.slice(first.length).trim();
    if (value === "") throw new InstructionError(line, "ENV must have the form NAME=value.");
    return [[requireName(first, line), value]];
  }
  return words.map((word) => {
    const at = word.indexOf("=");
    if (at < 1) throw new InstructionError(line, "ENV must have the form NAME=value NAME=value.");
    return [requireName(word.slice(0, at), line), word.slice(at + 1)];
  });
}

function readArguments(
  { line, text }: RawInstruction,
  escapeCharacter: string,
): [string, string | undefined][] {
  return splitWords(text, escapeCharacter).map((word) => {
    const at = word.indexOf("=");
    return at < 0
      ? [requireName(word, line), undefined]
      : [requireName(word.slice(0, at), line), word.slice(at + 1)];
  });
}

function requireName(name: string, line: number): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,199}$/.test(name)) return name;
  throw new InstructionError(line, `${name.slice(0, 100)} is not a valid name of a variable.`);
}
