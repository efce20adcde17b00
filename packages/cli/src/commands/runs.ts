import { Command } from "commander";
import { applyCommand } from "./runs/apply.ts";
import { attentionCommand, dismissCommand } from "./runs/attention.ts";
import { cancelCommand } from "./runs/cancel.ts";
import { checkoutCommand } from "./runs/checkout.ts";
import { approveCommand, rejectCommand } from "./runs/decide.ts";
import { deleteCommand, openCommand } from "./runs/delete-and-open.ts";
import { diffCommand } from "./runs/diff.ts";
import { filesCommand } from "./runs/files.ts";
import { followupCommand, followupsCommand } from "./runs/followup.ts";
import { getCommand } from "./runs/get.ts";
import { listCommand } from "./runs/list.ts";
import { publicationsCommand, publishCommand } from "./runs/publish.ts";
import { logsCommand, transcriptCommand } from "./runs/read.ts";
import { shareCommand } from "./runs/share.ts";

export const runsCommand = new Command("runs")
  .description("List, follow, steer, publish and cancel runs.")
  .addCommand(listCommand)
  .addCommand(attentionCommand)
  .addCommand(dismissCommand)
  .addCommand(getCommand)
  .addCommand(logsCommand)
  .addCommand(transcriptCommand)
  .addCommand(diffCommand)
  .addCommand(filesCommand)
  .addCommand(applyCommand)
  .addCommand(checkoutCommand)
  .addCommand(publishCommand)
  .addCommand(publicationsCommand)
  .addCommand(approveCommand)
  .addCommand(rejectCommand)
  .addCommand(followupCommand)
  .addCommand(followupsCommand)
  .addCommand(cancelCommand)
  .addCommand(openCommand)
  .addCommand(shareCommand)
  .addCommand(deleteCommand);
