import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { beforeAll, describe, expect, test } from "vitest";
import { makeProgram } from "../src/program.ts";
import { entries, rootHelp } from "../src/root.ts";
import { aliases, operations } from "./operations.ts";

let program: Command;
let commands: Map<string, Command>;
beforeAll(async () => {
  program = await makeProgram();
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

describe("operations", () => {
  test("every operation of the API has a command", () => {
    expect([...Object.keys(operations), ...aliases].toSorted()).toEqual(documented.toSorted());
  });

  test("and each of those commands exists and does something", () => {
    const missing = Object.values(operations).filter(
      (path) => !commands.has(path) || commands.get(path)?.commands.length !== 0,
    );
    expect(missing).toEqual([]);
  });
});

describe("help", () => {
  test("every command and option says what it is for", () => {
    const silent = [...commands].filter(([, command]) => command.description() === "").map(([path]) => path);
    const options = [...commands].flatMap(([path, command]) =>
      command.options.filter(({ description }) => !description).map(({ flags }) => `${path} ${flags}`),
    );
    expect([...silent, ...options]).toEqual([]);
    for (const [path, command] of commands) expect(command.helpInformation(), path).toContain("--help");
  });

  test("every command that speaks to a server takes what is said everywhere", () => {
    const own = ["serve", "worker", "person", "backup", "restore", "doctor", "completion"];
    const bare = [...commands]
      .filter(
        ([path, command]) => command.commands.length === 0 && !own.includes(path.split(" ")[0] as string),
      )
      .filter(([, command]) => !command.options.some(({ long }) => long === "--profile"))
      .map(([path]) => path);
    expect(bare).toEqual([]);
  });

  test("the first help names every command, in the words of the command itself", () => {
    for (const [name, { description }] of Object.entries(entries)) {
      expect(rootHelp()).toContain(`  ${name.padEnd(16)}  ${description}`);
      expect(commands.get(name)?.description().startsWith(description), name).toBe(true);
    }
    expect(program.helpInformation()).toBe(rootHelp());
  });

  test("no option takes a key or a secret's value as its argument", () => {
    const flags = [...commands.values()].flatMap(({ options }) => options);
    // The name of a file is no secret.
    const values = flags.filter(({ flags: text, required }) => required && !text.endsWith("<file>"));
    const secret = values.filter(({ long }) => /key|token|password|value/.test(long ?? ""));
    expect(secret.map(({ flags: text }) => text)).toEqual([]);
  });
});
