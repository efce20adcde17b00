import { Command } from "commander";
import { buildCommand, buildsCommand, logCommand } from "./env/builds.ts";
import { proposeCommand } from "./env/propose.ts";
import { getCommand, listCommand } from "./env/read.ts";
import { shellCommand } from "./env/shell.ts";
import { createCommand, deleteCommand, updateCommand } from "./env/write.ts";

export const envCommand = new Command("env")
  .description("Manage environments. An environment defines where runs execute.")
  .addCommand(listCommand)
  .addCommand(getCommand)
  .addCommand(proposeCommand)
  .addCommand(createCommand)
  .addCommand(updateCommand)
  .addCommand(deleteCommand)
  .addCommand(buildCommand)
  .addCommand(buildsCommand)
  .addCommand(logCommand)
  .addCommand(shellCommand);
