import { Command } from "commander";
import { addGlobalOptions } from "./global-options.ts";
import { entries, rootHelp, rootOptions } from "./root.ts";
import { version } from "./version.ts";

/** The whole tree, or of one command only; the others are then names in the help. */
export async function makeProgram({ only }: { only?: string } = {}): Promise<Command> {
  const [[versionFlags, versionSays], [helpFlags, helpSays]] = rootOptions as [
    [string, string],
    [string, string],
  ];
  const program = addGlobalOptions(
    new Command("outrider")
      .description("Runs coding agents on request.")
      .version(version, versionFlags, versionSays)
      .helpOption(helpFlags, helpSays)
      .enablePositionalOptions(),
  );
  program.helpInformation = rootHelp;
  for (const [name, { description, load }] of Object.entries(entries)) {
    const isWanted = only === undefined || only === name;
    const command = isWanted ? await load() : new Command(name).description(description);
    program.addCommand(command);
  }
  return program;
}

/** The command that the arguments name, if they name one. */
export function namedCommand(args: string[]): string | undefined {
  const isValue = (index: number) => ["--profile", "--server"].includes(args[index - 1] ?? "");
  return args.find((arg, index) => !arg.startsWith("-") && arg !== "help" && !isValue(index));
}
