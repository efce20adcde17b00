import { Command } from "commander";
import { buildCommand, buildsCommand, logCommand } from "./env/builds.ts";
import { createCommand, deleteCommand, updateCommand } from "./env/change.ts";
import { getCommand, listCommand } from "./env/read.ts";

export const envCommand = new Command("env")
  .description("Environments: what runs execute in.")
  .addCommand(listCommand)
  .addCommand(getCommand)
  .addCommand(createCommand)
  .addCommand(updateCommand)
  .addCommand(deleteCommand)
  .addCommand(buildCommand)
  .addCommand(buildsCommand)
  .addCommand(logCommand);
