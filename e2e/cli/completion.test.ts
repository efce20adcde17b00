import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { completionTable } from "../../packages/cli/src/completion/table.ts";
import { createProgram } from "../../packages/cli/src/program.ts";
import { type Cli, createCli } from "./cli.ts";

/** Tests the completion scripts in real shells. */

let cli: Cli;
let folder: string;
const scripts: Record<string, string> = {};

beforeAll(async () => {
  cli = createCli();
  folder = mkdtempSync(join(tmpdir(), "outrider-completion-"));
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    const { code, stdout } = await cli(["completion", shell]);
    expect(code).toBe(0);
    scripts[shell] = join(folder, shell);
    writeFileSync(scripts[shell] as string, stdout);
  }
});
afterAll(() => {
  cli?.[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns the completions at the end of a line, by shell. */
const completers: Record<string, (line: string) => string[]> = {
  bash(line) {
    const words = line.split(" ");
    const quoted = words.map((word) => `'${word}'`).join(" ");
    const script = `source "${scripts.bash}"; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _outrider
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    return lines(execFileSync("bash", ["-c", script]));
  },
  zsh(line) {
    const words = line.split(" ");
    const quoted = words.map((word) => `'${word}'`).join(" ");
    // The functions of the completion system work only inside it, so the test replaces them with ones that print their input.
    const script = `compdef() { }; _files() { }
      compadd() { shift; print -l -- "$@" }
      _describe() { print -l -- "\${(@)\${(@P)2}%%:*}" }
      source "${scripts.zsh}"; words=(${quoted}); CURRENT=${words.length}; _outrider`;
    const last = words.at(-1) as string;
    return lines(execFileSync("zsh", ["-fc", script])).filter((word) => word.startsWith(last));
  },
  fish(line) {
    const script = `source "${scripts.fish}"; complete -C '${line}'`;
    return lines(execFileSync("fish", ["--no-config", "-c", script])).map(
      (entry) => entry.split("\t")[0] as string,
    );
  },
  powershell(line) {
    const script = `. '${scripts.powershell}'; $line = '${line}'
      (TabExpansion2 -inputScript $line -cursorColumn $line.Length).CompletionMatches.CompletionText`;
    return lines(execFileSync("pwsh", ["-NoProfile", "-Command", script]));
  },
};

/** PowerShell is not part of the test setup. Where it is installed, the script also runs in it. */
const hasPowershell = spawnSync("pwsh", ["-NoProfile", "-Command", "exit"]).status === 0;

function lines(output: Buffer): string[] {
  return String(output).split("\n").filter(Boolean);
}

const tested = ["bash", "zsh", "fish", ...(hasPowershell ? ["powershell"] : [])];

describe.each(tested)("%s", (shell) => {
  const complete = (line: string) => (completers[shell] as (line: string) => string[])(line).toSorted();

  test("completes commands, subcommands, options and their values", () => {
    expect(complete("outrider ru")).toEqual(["run", "runs"]);
    expect(complete("outrider runs fol")).toEqual(["followup", "followups"]);
    expect(complete("outrider runs followups w")).toEqual(["withdraw"]);
    expect(complete("outrider runs list --sor")).toEqual(["--sort"]);
    const sorts = ["cost", "created_at", "duration", "title", "updated_at"];
    expect(complete("outrider runs list --sort ")).toEqual(sorts);
    expect(complete("outrider runs logs some-run --fo")).toEqual(["--follow"]);
    expect(complete("outrider completion ")).toEqual(expect.arrayContaining(["bash", "fish", "zsh"]));
    expect(complete("outrider --profile work env b")).toEqual(["build", "builds"]);
    expect(complete("outrider runs ls --asc")).toEqual(["--ascending"]);
  });

  test("completes every word of every command", async () => {
    const { words } = completionTable(await createProgram());
    const some = Object.entries(words).filter((_, index) => index % 6 === 0);
    for (const [path, all] of some) {
      const names = all.map(({ word }) => word).filter((word) => !word.startsWith("-"));
      expect(complete(`outrider ${path} `.replace("  ", " ")), path).toEqual(expect.arrayContaining(names));
    }
  });
});

describe("the PowerShell script", () => {
  const text = () => readFileSync(scripts.powershell as string, "utf8");
  const quoted = "'((?:[^'‘-‛]|['‘-‛]{2})*)'";

  /** Reads a table of the script: the path or option of each line, with its strings. */
  function readTable(name: string): Map<string, string[]> {
    const line = new RegExp(`^ {4}\\$${name}\\.Add\\(${quoted}, @\\(((?:${quoted}(?:, )?)*)\\)\\)$`, "gm");
    return new Map(
      [...text().matchAll(line)].map(([, path = "", entries = ""]) => [
        path,
        [...entries.matchAll(new RegExp(quoted, "g"))].map(([, entry = ""]) => entry.replaceAll("''", "'")),
      ]),
    );
  }

  test("registers a completer for native commands", () => {
    expect(text()).toMatch(/^Register-ArgumentCompleter -Native -CommandName outrider -ScriptBlock \{$/m);
    expect(text()).toMatch(/^ {4}param\(\$wordToComplete, \$commandAst, \$cursorPosition\)$/m);
  });

  test("contains every word with its description, and every value", async () => {
    const { words, values } = completionTable(await createProgram());
    const expected = Object.entries(words).map(([path, all]): [string, string[]] => [
      path,
      all.map(({ word, description }) => `${word}\t${description || word}`),
    ]);
    expect(readTable("words")).toEqual(new Map(expected));
    expect(readTable("values")).toEqual(new Map(Object.entries(values)));
  });

  test("has balanced brackets outside of strings and comments", () => {
    const code = text()
      .replaceAll(new RegExp(quoted, "g"), "")
      .replaceAll(/^\s*#.*$/gm, "");
    const open: string[] = [];
    const closing: Record<string, string> = { "(": ")", "{": "}", "[": "]" };
    for (const char of code.match(/[(){}[\]]/g) ?? [])
      if (closing[char]) open.push(closing[char]);
      else expect(char).toBe(open.pop());
    expect(open).toEqual([]);
  });
});
