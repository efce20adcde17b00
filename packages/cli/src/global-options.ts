import { type Command, Option } from "commander";
import { globalOptions } from "./root-help.ts";

export function addGlobalOptions(command: Command): Command {
  for (const [flags, description] of globalOptions)
    command.addOption(new Option(flags, description).helpGroup("Global options:"));
  return command;
}
