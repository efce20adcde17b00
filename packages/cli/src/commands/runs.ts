import { Command } from "commander";
import { applyCommand } from "./runs/apply.ts";
import { cancelCommand } from "./runs/cancel.ts";
import { deleteCommand, openCommand } from "./runs/delete-and-open.ts";
import { diffCommand } from "./runs/diff.ts";
import { followupCommand, followupsCommand } from "./runs/followup.ts";
import { getCommand } from "./runs/get.ts";
import { listCommand } from "./runs/list.ts";
import { logsCommand, transcriptCommand } from "./runs/read.ts";
import { shareCommand } from "./runs/share.ts";

export const runsCommand = new Command("runs")
  .description("List, follow, steer and cancel runs.")
  .addCommand(listCommand)
  .addCommand(getCommand)
  .addCommand(logsCommand)
  .addCommand(transcriptCommand)
  .addCommand(diffCommand)
  .addCommand(applyCommand)
  .addCommand(followupCommand)
  .addCommand(followupsCommand)
  .addCommand(cancelCommand)
  .addCommand(openCommand)
  .addCommand(shareCommand)
  .addCommand(deleteCommand);
