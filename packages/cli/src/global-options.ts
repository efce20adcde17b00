import { type Command, Option } from "commander";
import { globalOptions } from "./root.ts";

export function addGlobalOptions(command: Command): Command {
  for (const [flags, description] of globalOptions)
    command.addOption(new Option(flags, description).helpGroup("Everywhere:"));
  return command;
}
