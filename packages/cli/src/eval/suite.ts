import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../exit-codes.ts";
import { joinCommands, writeFileCommands } from "./shell.ts";
import type { EvalTask, HiddenFile, ScriptedAnswer } from "./task.ts";

/**
 * A suite is a folder with one folder per task:
 *
 *   task.json       kind, programs and the judge's conditions
 *   prompt.md       the prompt
 *   repository/     the files that the agent finds in its workspace
 *   setup.sh        optional: prepares the workspace further, for example with commits
 *   hidden/         optional: the files that the judge adds before it runs its command
 *   solution/, solution.script, wrong/, wrong.script    two known answers for the scripted model
 */

interface TaskFile {
  kind: string;
  programs: string[];
  test?: string;
  unchanged?: boolean;
  output_schema?: Record<string, unknown>;
  output?: Record<string, unknown>;
  answer?: { matches?: string[]; avoids?: string[] };
  max_steps?: number;
}

const kinds = ["fix", "feature", "refactor", "question", "refuse", "recover"];

const isText = (value: unknown) => typeof value === "string" && value !== "";
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

const fields: Record<keyof TaskFile, [isValid: (value: unknown) => boolean, rule: string]> = {
  kind: [(value) => kinds.includes(value as string), `must be one of ${kinds.join(", ")}`],
  programs: [isTexts, "must be a list of programs"],
  test: [isText, "must be a command"],
  unchanged: [(value) => typeof value === "boolean", "must be true or false"],
  output_schema: [isObject, "must be a JSON Schema"],
  output: [isObject, "must be an object"],
  answer: [isObject, "must be an object with matches and avoids"],
  max_steps: [(value) => Number.isInteger(value) && (value as number) > 0, "must be a positive integer"],
};

/** Reads the tasks of a suite, sorted by name. */
export function readSuite(folder: string): EvalTask[] {
  if (!existsSync(folder)) throw new UsageError(`The suite ${JSON.stringify(folder)} does not exist.`);
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
  if (names.length === 0) throw new UsageError(`The suite ${JSON.stringify(folder)} contains no tasks.`);
  return names.map((name) => readTask(name, join(folder, name)));
}

function readTask(name: string, folder: string): EvalTask {
  const task = readTaskFile(join(folder, "task.json"));
  const read = (file: string) =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8") : undefined;
  const prompt = read("prompt.md")?.trim();
  if (!prompt) throw new UsageError(`The task ${name} needs a prompt.md.`);
  if (!task.test && !task.output && !task.answer && !task.unchanged)
    throw new UsageError(
      `The task ${name} has no judge. Set test, output, answer or unchanged in task.json.`,
    );
  const patterns = (texts: string[] = []) => texts.map((text) => new RegExp(text, "i"));
  return {
    ...{ name, kind: task.kind, prompt, programs: task.programs },
    ...(task.output_schema ? { outputSchema: task.output_schema } : {}),
    ...(task.max_steps ? { maxSteps: task.max_steps } : {}),
    environment: {
      name,
      // Bytecode files would count as changes.
      variables: { PYTHONDONTWRITEBYTECODE: "1" },
      setup_commands: setupCommands(readFiles(join(folder, "repository")), read("setup.sh")),
    },
    judge: {
      ...{ folder: "/workspace", patchContains: "whole workspace", removedPaths: [] },
      hiddenFiles: readFiles(join(folder, "hidden")),
      ...(task.test ? { command: task.test } : {}),
      ...(task.unchanged ? { isUnchanged: true } : {}),
      ...(task.output ? { output: task.output } : {}),
      ...(task.answer
        ? { answer: { matches: patterns(task.answer.matches), avoids: patterns(task.answer.avoids) } }
        : {}),
    },
    scripted: {
      solution: readScripted(folder, "solution"),
      wrong: readScripted(folder, "wrong"),
    },
  };
}

function readTaskFile(path: string): TaskFile {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw new UsageError(`${path} must contain an object.`);
  for (const [field, content] of Object.entries(value as object)) {
    const [isValid, rule] = Object.hasOwn(fields, field) ? fields[field as keyof TaskFile] : [];
    if (!isValid) throw new UsageError(`${path} has the unknown field ${field}.`);
    if (!isValid(content)) throw new UsageError(`${path}: ${field} ${rule}.`);
  }
  for (const field of ["kind", "programs"] as const)
    if (!Object.hasOwn(value as object, field)) throw new UsageError(`${path} needs the field ${field}.`);
  return value as TaskFile;
}

/** The repository is created by setup commands, so that it needs no git host and works with any server. */
function setupCommands(files: HiddenFile[], setup: string | undefined): string[] {
  return joinCommands([
    "git init -q -b main && git config user.name Developer && git config user.email developer@example.com",
    ...files.flatMap(writeFileCommands),
    ...(setup ? [`(\nset -e\n${setup}\n)`] : []),
    "git add -A && git commit -q --allow-empty -m 'Initial commit'",
  ]);
}

/** Turns the files and the script of a known answer into one script. */
function readScripted(folder: string, answer: "solution" | "wrong"): ScriptedAnswer {
  const writes = readFiles(join(folder, answer)).map(
    (file) => `RUN: ${writeFileCommands(file).join(" && ")}`,
  );
  const file = join(folder, `${answer}.script`);
  const script = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  if (writes.length === 0 && script === "")
    throw new UsageError(`${folder} needs a folder ${answer} or a file ${answer}.script.`);
  return { script: [...writes, script || "SAY: Done."].join("\n") };
}

function readFiles(folder: string): HiddenFile[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((file) => ({
      path: file.slice(folder.length + 1),
      content: readFileSync(file),
      isExecutable: (statSync(file).mode & 0o100) !== 0,
    }));
}
