import type { Command } from "commander";

export interface Completion {
  word: string;
  description: string;
}

export interface Completions {
  /** Maps a command path to the possible next words: "" is the root, "runs list" is a subcommand. */
  words: Record<string, Completion[]>;
  /** Maps a path and flag, such as "runs list --sort", to the option's values. Empty for files and free text. */
  values: Record<string, readonly string[]>;
}

/** Builds the completion table from the command tree. */
export function completionTable(program: Command): Completions {
  const table: Completions = { words: {}, values: {} };
  visit(program, [], table);
  return table;
}

function visit(command: Command, path: string[], table: Completions): void {
  const help = command.createHelp();
  const at = path.join(" ");
  const subcommands = help.visibleCommands(command).filter((subcommand) => subcommand.name() !== "help");
  const options = help.visibleOptions(command);
  table.words[at] = [
    ...subcommands.map((subcommand) => ({ word: subcommand.name(), description: subcommand.description() })),
    ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
      argChoices.map((word) => ({ word, description })),
    ),
    ...options.map(({ long, short, description }) => ({ word: long ?? short ?? "", description })),
  ];
  for (const { long, short, argChoices, required } of options)
    for (const flag of [long, short])
      if (flag && required) table.values[`${at} ${flag}`.trim()] = argChoices ?? [];
  // An alias is not suggested, but what follows it is.
  for (const subcommand of subcommands)
    for (const name of [subcommand.name(), ...subcommand.aliases()])
      visit(subcommand, [...path, name], table);
}
