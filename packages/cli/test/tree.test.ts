import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { beforeAll, describe, expect, test } from "vitest";
import { createProgram } from "../src/program.ts";
import { entries, rootHelp } from "../src/root-help.ts";
import { aliases, operations, withoutCommand } from "./operations.ts";

let program: Command;
let commands: Map<string, Command>;
beforeAll(async () => {
  program = await createProgram();
  commands = new Map(walk(program).map((command) => [pathOf(command), command]));
});

function walk(command: Command): Command[] {
  return [command, ...command.commands.flatMap(walk)];
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : "";
}

const document = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8"));
const documented = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>)
  .flatMap((path) => Object.values(path))
  .map(({ operationId }) => operationId);

describe("commands", () => {
  test("cover every operation of the API", () => {
    expect([...Object.keys(operations), ...aliases, ...withoutCommand].toSorted()).toEqual(
      documented.toSorted(),
    );
  });

  test("exist for every listed operation", () => {
    // These commands have subcommands and also do something themselves.
    const withSubcommands = ["runs files", "usage"];
    const missing = Object.values(operations).filter(
      (path) =>
        !commands.has(path) || (commands.get(path)?.commands.length !== 0 && !withSubcommands.includes(path)),
    );
    expect(missing).toEqual([]);
  });
});

describe("help", () => {
  test("describes every command and option", () => {
    const undescribed = [...commands]
      .filter(([, command]) => command.description() === "")
      .map(([path]) => path);
    const options = [...commands].flatMap(([path, command]) =>
      command.options.filter(({ description }) => !description).map(({ flags }) => `${path} ${flags}`),
    );
    expect([...undescribed, ...options]).toEqual([]);
    for (const [path, command] of commands) expect(command.helpInformation(), path).toContain("--help");
  });

  test("lists the global options for every command that calls the API", () => {
    const localGroups = [
      ...["eval", "serve", "worker", "admin", "backup", "restore", "blobs", "doctor", "completion"],
    ];
    const isLocal = (path: string) =>
      path === "harness install" || localGroups.includes(path.split(" ")[0] as string);
    const missing = [...commands]
      .filter(([path, command]) => command.commands.length === 0 && !isLocal(path))
      .filter(([, command]) => !command.options.some(({ long }) => long === "--profile"))
      .map(([path]) => path);
    expect(missing).toEqual([]);
  });

  test("lists every command with its own description", () => {
    for (const [name, { description }] of Object.entries(entries)) {
      expect(rootHelp()).toContain(`  ${name.padEnd(16)}  ${description}`);
      expect(commands.get(name)?.description().startsWith(description), name).toBe(true);
    }
    expect(program.helpInformation()).toBe(rootHelp());
  });

  test("has no option that takes a key or the value of a secret", () => {
    const flags = [...commands.values()].flatMap(({ options }) => options);
    // File names are not secret.
    const values = flags.filter(({ flags: text, required }) => required && !text.endsWith("<file>"));
    const secret = values.filter(({ long }) => /key|token|password|value/.test(long ?? ""));
    expect(secret.map(({ flags: text }) => text)).toEqual([]);
  });
});
