import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { completionTable } from "../../packages/cli/src/completion/table.ts";
import { makeProgram } from "../../packages/cli/src/program.ts";
import { type Cli, makeCli } from "./cli.ts";

/** What real shells make of our completions. */

let cli: Cli;
let folder: string;
const scripts: Record<string, string> = {};

beforeAll(async () => {
  cli = makeCli();
  folder = mkdtempSync(join(tmpdir(), "outrider-completion-"));
  for (const shell of ["bash", "zsh", "fish"]) {
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

/** Each answers the words that may stand where the line ends. */
const ask: Record<string, (line: string) => string[]> = {
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
    // The functions of the completion system work only inside it: they are replaced by ones that tell what they get.
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
      (each) => each.split("\t")[0] as string,
    );
  },
};

function lines(output: Buffer): string[] {
  return String(output).split("\n").filter(Boolean);
}

describe.each(["bash", "zsh", "fish"])("%s", (shell) => {
  const complete = (line: string) => (ask[shell] as (line: string) => string[])(line).toSorted();

  test("knows commands, the commands below them, options and their values", () => {
    expect(complete("outrider ru")).toEqual(["run", "runs"]);
    expect(complete("outrider runs fol")).toEqual(["followup", "followups"]);
    expect(complete("outrider runs followups w")).toEqual(["withdraw"]);
    expect(complete("outrider runs list --sor")).toEqual(["--sort"]);
    expect(complete("outrider runs list --sort ")).toEqual(["created_at", "title", "updated_at"]);
    expect(complete("outrider runs logs some-run --fo")).toEqual(["--follow"]);
    expect(complete("outrider completion ")).toEqual(expect.arrayContaining(["bash", "fish", "zsh"]));
    expect(complete("outrider --profile work env b")).toEqual(["build", "builds"]);
  });

  test("knows every word of every command", async () => {
    const { words } = completionTable(await makeProgram());
    const some = Object.entries(words).filter((_, index) => index % 6 === 0);
    for (const [path, all] of some) {
      const names = all.map(({ word }) => word).filter((word) => !word.startsWith("-"));
      expect(complete(`outrider ${path} `.replace("  ", " ")), path).toEqual(expect.arrayContaining(names));
    }
  });
});
