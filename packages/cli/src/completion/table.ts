import type { Command } from "commander";

export interface Completion {
  word: string;
  description: string;
}

export interface Completions {
  /** Words that may follow, by the path of the command: "" is the root, "runs list" a command below it. */
  words: Record<string, Completion[]>;
  /** Values of options by path and flag, as in "runs list --sort"; empty where a file or free text follows. */
  values: Record<string, readonly string[]>;
}

/** What can be typed where, from the commands themselves. */
export function completionTable(program: Command): Completions {
  const table: Completions = { words: {}, values: {} };
  visit(program, [], table);
  return table;
}

function visit(command: Command, path: string[], table: Completions): void {
  const help = command.createHelp();
  const at = path.join(" ");
  const subcommands = help.visibleCommands(command).filter((each) => each.name() !== "help");
  const options = help.visibleOptions(command);
  table.words[at] = [
    ...subcommands.map((each) => ({ word: each.name(), description: each.description() })),
    ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
      argChoices.map((word) => ({ word, description })),
    ),
    ...options.map(({ long, short, description }) => ({ word: long ?? short ?? "", description })),
  ];
  for (const { long, short, argChoices, required } of options)
    for (const flag of [long, short])
      if (flag && required) table.values[`${at} ${flag}`.trim()] = argChoices ?? [];
  for (const each of subcommands) visit(each, [...path, each.name()], table);
}
