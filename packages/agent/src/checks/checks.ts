/**
 * Runs an environment's checks after an edit and adds their new findings to the tool's result.
 *
 * A check runs once before the first edit of a file that it matches, so that the agent is not told about findings that
 * were there before. After that, each output is compared with the one before it. A check that takes too long is not run
 * again in the turn.
 */

import type { EnvironmentCheck } from "@outrider/contract/environment";
import { Failure, messageOf } from "../failure.ts";
import { expandHome } from "../tools/expand-home.ts";
import type { Tool, ToolContext, ToolResult } from "../tools/tool.ts";
import { type Findings, formatFindings, newFindings, parseFindings } from "./findings.ts";
import { matchesGlob } from "./path-glob.ts";

const CHECK_MS = 60_000;
/** Less than the size at which a command's output becomes an artifact. */
const MAX_OUTPUT_BYTES = 32 * 1024;
const FILES = "{files}";

/** The reason why a check has no findings. */
interface Problem {
  problem: string;
}

interface CheckState {
  check: EnvironmentCheck;
  name: string;
  isDisabled: boolean;
  /** The latest findings, by the files that the command names. */
  findings: Map<string, Findings | Problem>;
}

export class Checks {
  readonly #states: CheckState[];
  #runs = 0;

  constructor(checks: readonly EnvironmentCheck[]) {
    this.#states = checks.map((check) => ({
      check,
      name: check.name ?? check.command,
      isDisabled: false,
      findings: new Map(),
    }));
  }

  /** Runs a tool that edits files, with the checks before and after it. */
  async runTool(tool: Tool, input: unknown, context: ToolContext): Promise<ToolResult> {
    const paths = (tool.editedPaths?.(input) ?? []).map((path) => expandHome(path, context.workspace));
    const edits = this.#states
      .filter(({ isDisabled }) => !isDisabled)
      .map((state) => ({
        state,
        files: paths.filter((path) => state.check.globs.some((glob) => matchesGlob(path, glob))),
      }))
      .filter(({ files }) => files.length > 0);
    for (const { state, files } of edits) await this.#runFirst(state, files, context);
    if (context.signal.aborted) {
      for (const { state, files } of edits) state.findings.delete(keyOf(state, files));
      throw new Error("Not started: the call was interrupted.");
    }
    const result = await tool.run(input, context);
    if (result.is_error) return result;
    const reports: string[] = [];
    for (const { state, files } of edits) reports.push(...(await this.#report(state, files, context)));
    return { ...result, output: [result.output, ...reports].join("\n\n") };
  }

  async #runFirst(state: CheckState, files: string[], context: ToolContext) {
    const key = keyOf(state, files);
    if (!state.findings.has(key)) state.findings.set(key, await this.#run(state, files, context));
  }

  async #report(state: CheckState, files: string[], context: ToolContext): Promise<string[]> {
    const key = keyOf(state, files);
    const before = state.findings.get(key) ?? [];
    const after = "problem" in before ? before : await this.#run(state, files, context);
    if (context.signal.aborted) {
      state.findings.delete(key);
      return [];
    }
    state.findings.set(key, after);
    const { name } = state;
    if ("problem" in before || "problem" in after) {
      state.isDisabled = true;
      const { problem } = "problem" in before ? before : (after as Problem);
      return [`The check "${name}" was skipped and does not run again in this turn: ${problem}.`];
    }
    const found = newFindings(before, after);
    return found.length === 0 ? [] : [`New findings of the check "${name}":\n${formatFindings(found)}`];
  }

  async #run({ check }: CheckState, files: string[], context: ToolContext): Promise<Findings | Problem> {
    const { workspace, call_id, signal, emit } = context;
    this.#runs += 1;
    let output = "";
    try {
      // A new file does not exist before the edit, and a deleted one does not afterwards.
      const existing = check.command.includes(FILES) ? await existingFiles(files, context) : [];
      if (check.command.includes(FILES) && existing.length === 0) return [];
      const { exit_code, timed_out, changes } = await workspace.exec(commandOf(check, existing), {
        command_id: `check-${call_id}-${this.#runs}`,
        signal,
        timeoutMs: CHECK_MS,
        onOutput: ({ text }) => {
          output += text;
        },
      });
      for (const data of changes ?? []) await emit({ type: "file.changed", data });
      if (timed_out) return { problem: `it took longer than ${CHECK_MS / 1000} s` };
      if (exit_code === null) return { problem: "it was stopped" };
      return exit_code === 0 ? [] : parseFindings(output);
    } catch (error) {
      if (error instanceof Failure) throw error;
      return { problem: `it cannot start (${messageOf(error)})` };
    }
  }
}

function keyOf({ check }: CheckState, files: string[]): string {
  return check.command.includes(FILES) ? [...files].sort().join("\0") : "";
}

/** Returns the command with the files as quoted words. The output is bounded, and so is the time to read it. */
function commandOf({ command }: EnvironmentCheck, files: string[]): string {
  const words = files.map((file) => quote(file.startsWith("-") ? `./${file}` : file)).join(" ");
  const complete = command.replaceAll(FILES, () => words);
  // Without PIPESTATUS, which only bash has, the exit code takes another way around the pipe.
  return `{ code=$({ { (\n${complete}\n) 2>&1 3>&- 4>&-; echo $? >&3; } | head -c ${MAX_OUTPUT_BYTES} >&4; } 3>&1); } 4>&1\nexit "$code"`;
}

async function existingFiles(files: string[], { workspace, signal }: ToolContext): Promise<string[]> {
  const script = 'for file; do if [ -e "$file" ]; then printf "%s\\0" "$file"; fi; done';
  const limit = Buffer.byteLength(files.join("\0")) + 1;
  const { output } = await workspace.probe(script, { args: files, limit, signal });
  return output.toString().split("\0").slice(0, -1);
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
