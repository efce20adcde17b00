import { readFileSync, writeFileSync } from "node:fs";
import type { Command, Option } from "commander";
import { exits } from "../packages/cli/src/exit.ts";
import { makeProgram } from "../packages/cli/src/program.ts";
import { globalOptions } from "../packages/cli/src/root.ts";

/** Writes docs/cli-reference.md from the commands themselves, or with --check says whether it is up to date. */

const meanings: Record<keyof typeof exits, string> = {
  ok: "done; the run succeeded",
  failed: "the run failed, or what was asked for is not possible as things stand",
  usage: "the command is wrong, or the server refused what it says",
  auth: "no key, or one that may not do this",
  notFound: "there is no such thing",
  server: "the server was not reached, or could not answer",
  waitTimeout: "waited as long as `--timeout` said; the run goes on",
  cancelled: "the run was cancelled",
  blocked: "the run waits for an answer",
  interrupted: "Ctrl-C; the run goes on",
};

const everywhere = new Set(globalOptions.map(([flags]) => flags));

function reference(program: Command): string {
  const codes = Object.entries(exits).map(([name, code]) => [
    String(code),
    meanings[name as keyof typeof exits],
  ]);
  const parts = [
    "# Commands",
    "Written by `scripts/cli-reference.ts` from the commands. How to begin: [cli.md](cli.md).",
    "## Everywhere",
    "Every command but `serve`, `worker`, `person`, `backup`, `restore`, `doctor` and `completion` takes these, before its name or behind it.",
    table(
      ["Option", ""],
      globalOptions.map(([flags, says]) => [code(flags), says]),
    ),
    "## What it ends with",
    table(["Code", "Meaning"], codes),
    ...program.commands.flatMap((command) => describe(command, 2)),
  ];
  return `${parts.join("\n\n")}\n`;
}

function describe(command: Command, depth: number): string[] {
  const path = pathOf(command);
  const isClient = command.options.some(({ long }) => long === "--profile");
  const own = command.options.filter(({ flags }) => !(isClient && everywhere.has(flags)));
  const args = command.registeredArguments;
  const usage = args.map((arg) => (arg.required ? `<${arg.name()}>` : `[${arg.name()}]`));
  const line = ["outrider", path, ...usage, ...(own.length > 0 ? ["[options]"] : [])].join(" ");
  const members = [
    ...args.filter(({ description }) => description).map((arg) => [code(arg.name()), arg.description]),
    ...own.map((option) => [code(option.flags), textOf(option, isClient)]),
  ];
  return [
    `${"#".repeat(depth)} ${path}`,
    command.description(),
    ...(command.commands.length === 0 ? [`    ${line}`] : []),
    ...(members.length > 0 ? [table(["", ""], members)] : []),
    ...command.commands.flatMap((each) => describe(each, depth + 1)),
  ];
}

/** Defaults of commands that run the service are this machine's, and stand in its help alone. */
function textOf({ description, argChoices, defaultValue }: Option, isClient: boolean): string {
  const choices = argChoices ? argChoices.map(code).join(", ") : "";
  const usual = isClient && defaultValue !== undefined ? `default ${code(String(defaultValue))}` : "";
  return [description, choices, usual].filter(Boolean).join("; ");
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : "";
}

function table(head: string[], rows: (readonly (string | undefined)[])[]): string {
  const line = (cells: readonly (string | undefined)[]) =>
    `| ${cells.map((cell) => cell?.replaceAll("|", "\\|") ?? "").join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}

const file = new URL("../docs/cli-reference.md", import.meta.url);
const text = reference(await makeProgram());
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  console.error("docs/cli-reference.md is not what the commands say: run node scripts/cli-reference.ts");
  process.exitCode = 1;
}
