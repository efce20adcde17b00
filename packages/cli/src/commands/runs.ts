import { Command } from "commander";
import { deleteCommand, openCommand } from "./runs/act.ts";
import { cancelCommand } from "./runs/cancel.ts";
import { followupCommand, followupsCommand } from "./runs/followup.ts";
import { getCommand } from "./runs/get.ts";
import { listCommand } from "./runs/list.ts";
import { diffCommand, logsCommand, transcriptCommand } from "./runs/read.ts";
import { shareCommand } from "./runs/share.ts";

export const runsCommand = new Command("runs")
  .description("List, watch, steer and end runs.")
  .addCommand(listCommand)
  .addCommand(getCommand)
  .addCommand(logsCommand)
  .addCommand(transcriptCommand)
  .addCommand(diffCommand)
  .addCommand(followupCommand)
  .addCommand(followupsCommand)
  .addCommand(cancelCommand)
  .addCommand(openCommand)
  .addCommand(shareCommand)
  .addCommand(deleteCommand);
