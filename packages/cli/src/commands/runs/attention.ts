import type { RunItem } from "@outrider/sdk";
import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { UsageError } from "../../exit-codes.ts";
import { numberParser } from "../../input/pairs.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { futureTimeParser } from "../../input/time.ts";
import { ago } from "../../terminal/format.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";
import { paintState } from "../../transcript/summary.ts";

interface AttentionFlags {
  mine?: true;
  limit: number;
}

export const attentionCommand = clientCommand(
  "attention",
  "List runs that wait for an answer or failed recently, and that you have not dismissed.",
)
  .option("--mine", "only your own runs")
  .option("--limit <number>", "number of runs, at most 100", numberParser("--limit"), 20)
  .action(
    withClient<AttentionFlags>(async ({ client, out, flags }) => {
      const document = await client.attention.list({
        limit: flags.limit,
        ...(flags.mine ? { creator: "me" as const } : {}),
      });
      const when = ({ updated_at }: RunItem) => (out.isTerminal ? ago(updated_at) : updated_at);
      out.list<RunItem>({
        ...{ document, rows: document.runs, id: ({ run_id }) => run_id },
        emptyMessage: "No runs need attention.",
        columns: [
          { title: "RUN", text: ({ run_id }) => run_id },
          {
            title: "STATE",
            text: ({ state }) => state,
            paint: (text, { state }) => paintState(state, out.style)(text),
          },
          { title: "TITLE", text: ({ title }) => title, canShrink: true },
          { title: "MESSAGE", text: ({ status_message }) => status_message?.message, canShrink: true },
          { title: "UPDATED", text: when },
        ],
      });
      const others = document.count - document.runs.length;
      if (others > 0 && !out.isJson)
        out.note(`${others}${document.has_more ? " or more" : ""} other runs need attention.`);
    }),
  );

interface DismissFlags {
  all?: true;
  mine?: true;
  until?: string;
  undo?: true;
}

export const dismissCommand = clientCommand(
  "dismiss",
  "Remove a run from your list of runs that need attention, until its state changes.",
)
  .argument("[run]", RUN_ARGUMENT)
  .addOption(new Option("--all", "dismiss all runs that need attention").conflicts(["until", "undo"]))
  .option("--mine", "with --all: only your own runs")
  .addOption(
    new Option("--until <time>", "snooze the run: date, timestamp, or time from now such as 2h or 3d")
      .argParser(futureTimeParser("--until"))
      .conflicts("undo"),
  )
  .option("--undo", "restore a dismissed or snoozed run")
  .action(
    withClient<DismissFlags>(async ({ client, out, flags }, given?: string) => {
      if ((given === undefined) === (flags.all === undefined)) throw new UsageError("Pass a run, or --all.");
      if (flags.mine && !flags.all) throw new UsageError("--mine requires --all.");
      if (given === undefined) {
        const document = await client.attention.dismissAll(flags.mine ? { creator: "me" } : {});
        const runs = document.dismissed === 1 ? "run" : "runs";
        out.done({
          document,
          id: String(document.dismissed),
          message: `Dismissed ${document.dismissed} ${runs}.`,
        });
        return;
      }
      const run = await findRunId(client, given);
      if (flags.undo) {
        await client.attention.restore(run);
        out.done({
          document: { run_id: run, restored: true },
          id: run,
          message: `Restored ${sanitizeLine(run)}.`,
        });
        return;
      }
      const until = flags.until;
      await client.attention.dismiss(run, until === undefined ? {} : { snoozed_until: until });
      out.done({
        document: { run_id: run, dismissed: true, ...(until === undefined ? {} : { snoozed_until: until }) },
        id: run,
        message: until === undefined ? `Dismissed ${sanitizeLine(run)}.` : `Snoozed until ${until}.`,
      });
    }),
  );
