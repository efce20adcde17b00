import type { FollowupMode, Outrider, RunFollowup } from "@outrider/sdk";
import { Command, Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { UsageError } from "../../exit-codes.ts";
import { readAttachments } from "../../input/attachments.ts";
import { parseLimits, runLimits } from "../../input/limits.ts";
import { collect, omitUndefined } from "../../input/pairs.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { readText } from "../../input/text.ts";
import { addWatchOptions, validateWatchFlags, type WatchFlags, watch } from "../run.ts";

interface FollowupFlags extends WatchFlags {
  mode?: FollowupMode;
  limit?: string[];
  attach?: string[];
}

const outcomes = {
  queued_prompt: "The run has not started. The message was added to the prompt.",
  live_session: "The agent gets the message before its next step.",
  new_turn: "The run continues with a new turn.",
};

const modeOption = () =>
  new Option(
    "--mode <mode>",
    "when to deliver it: auto (before the next model call), queue (after the turn), interrupt (stops the current step)",
  ).choices(["auto", "queue", "interrupt"]);

export const followupCommand = addWatchOptions(
  clientCommand(
    "followup",
    "Send a message to a run: steer it, answer its question, or continue it after its end.",
  )
    .argument("<run>", RUN_ARGUMENT)
    .argument("<message>", "message for the agent; @path reads a file, - reads stdin")
    .addOption(modeOption())
    .option("--limit <name=number>", `new limit of the run: ${runLimits.join(", ")}; repeatable`, collect)
    .option("--attach <file>", "file to attach, at most 5 and 10 MiB in total; repeatable", collect),
).action(
  withClient<FollowupFlags>(async (context, run, message) => {
    const { client, out, flags } = context;
    validateWatchFlags(flags);
    const runId = await findRunId(client, run as string);
    const body = {
      message: await readText(message as string),
      ...omitUndefined({
        mode: flags.mode,
        limits: parseLimits(flags.limit, runLimits),
        attachments: readAttachments(flags.attach),
      }),
    };
    const isWatched = flags.follow || flags.wait;
    const after = isWatched ? await lastSeq(context.client, runId) : undefined;
    const response = await client.followups.create(runId, body);
    if (isWatched) return watch(context, runId, after);
    out.done({
      document: response,
      id: response.followup_id,
      message: outcomes[response.outcome] ?? response.outcome,
    });
  }),
);

/** Returns the sequence number of the run's last event, so that following starts after it. */
async function lastSeq(client: Outrider, runId: string): Promise<number> {
  let last = 0;
  for await (const { seq } of client.events.list(runId, { limit: 1_000 })) last = seq;
  return last;
}

const list = clientCommand("list", "List the follow-ups of a run.")
  .alias("ls")
  .argument("<run>", RUN_ARGUMENT)
  .action(
    withClient(async ({ client, out }, run) => {
      const document = await client.followups.list(await findRunId(client, run as string));
      out.list<RunFollowup>({
        ...{
          document,
          rows: document.followups,
          id: ({ followup_id }) => followup_id,
          emptyMessage: "No follow-ups.",
        },
        columns: [
          { title: "FOLLOW-UP", text: ({ followup_id }) => followup_id },
          { title: "DELIVERY", text: ({ delivery }) => delivery },
          { title: "MODE", text: ({ mode }) => mode },
          { title: "MESSAGE", text: ({ message }) => message, canShrink: true },
        ],
      });
    }),
  );

const edit = clientCommand("edit", "Change a queued follow-up.")
  .argument("<run>", RUN_ARGUMENT)
  .argument("<followup>", "follow-up ID")
  .option("--message <text>", "message for the agent; @path reads a file, - reads stdin")
  .addOption(modeOption())
  .action(
    withClient<{ message?: string; mode?: FollowupMode }>(async ({ client, out, flags }, run, followup) => {
      const message = flags.message === undefined ? undefined : await readText(flags.message);
      const body = omitUndefined({ message, mode: flags.mode });
      if (Object.keys(body).length === 0)
        throw new UsageError("Nothing to update. Pass --message or --mode.");
      const document = await client.followups.update(
        await findRunId(client, run as string),
        followup as string,
        body,
      );
      out.done({ document, id: document.followup_id, message: "Updated." });
    }),
  );

const withdraw = clientCommand("withdraw", "Withdraw a queued follow-up.")
  .argument("<run>", RUN_ARGUMENT)
  .argument("<followup>", "follow-up ID")
  .action(
    withClient(async ({ client, out }, run, followup) => {
      await client.followups.delete(await findRunId(client, run as string), followup as string);
      const document = { followup_id: followup, withdrawn: true };
      out.done({ document, id: followup as string, message: "Withdrawn." });
    }),
  );

export const followupsCommand = new Command("followups")
  .description("List, edit and withdraw the follow-ups of a run.")
  .addCommand(list)
  .addCommand(edit)
  .addCommand(withdraw);
