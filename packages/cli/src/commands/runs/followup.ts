import type { FollowupMode, Outrider, RunFollowup } from "@outrider/sdk";
import { Command, Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { Complaint } from "../../exit.ts";
import { attachmentsOf } from "../../input/attachments.ts";
import { limitsOf, runLimits } from "../../input/limits.ts";
import { runIdOf } from "../../input/named.ts";
import { collect, given } from "../../input/pairs.ts";
import { readText } from "../../input/text.ts";
import { addWatchOptions, checkWatch, type WatchFlags, watch } from "../run.ts";

interface FollowupFlags extends WatchFlags {
  mode?: FollowupMode;
  limit?: string[];
  attach?: string[];
}

const outcomes = {
  queued_prompt: "The run has not started: the message joins the prompt.",
  live_session: "The agent sees it before its next step.",
  new_turn: "The run goes on with it.",
};

const modes = () =>
  new Option(
    "--mode <mode>",
    "auto: before the next model call; queue: after the turn; interrupt: stops the current step",
  ).choices(["auto", "queue", "interrupt"]);

export const followupCommand = addWatchOptions(
  clientCommand("followup", "Steer a run at work, answer its question, or continue a finished one.")
    .argument("<run>", "its id or session link")
    .argument("<message>", "@path reads a file, - reads stdin")
    .addOption(modes())
    .option("--limit <name=number>", `${runLimits.join(", ")}; repeatable`, collect)
    .option("--attach <file>", "at most 5 files of 10 MiB in all; repeatable", collect),
).action(
  withClient<FollowupFlags>(async (context, run, message) => {
    const { client, out, flags } = context;
    checkWatch(flags);
    const runId = runIdOf(run as string);
    const body = {
      message: await readText(message as string),
      ...given({
        mode: flags.mode,
        limits: limitsOf(flags.limit, runLimits),
        attachments: attachmentsOf(flags.attach),
      }),
    };
    const isWatched = flags.follow || flags.wait;
    const after = isWatched ? await lastSeq(context.client, runId) : undefined;
    const answer = await client.followups.create(runId, body);
    if (isWatched) return watch(context, runId, after);
    out.done({ document: answer, id: answer.followup_id, says: outcomes[answer.outcome] ?? answer.outcome });
  }),
);

/** What was told before need not be told again. */
async function lastSeq(client: Outrider, runId: string): Promise<number> {
  let last = 0;
  for await (const { seq } of client.events.list(runId, { limit: 1_000 })) last = seq;
  return last;
}

const list = clientCommand("list", "List a run's follow-ups.")
  .argument("<run>", "its id or session link")
  .action(
    withClient(async ({ client, out }, run) => {
      const document = await client.followups.list(runIdOf(run as string));
      out.list<RunFollowup>({
        ...{
          document,
          rows: document.followups,
          id: ({ followup_id }) => followup_id,
          none: "No follow-ups.",
        },
        columns: [
          { title: "FOLLOW-UP", text: ({ followup_id }) => followup_id },
          { title: "DELIVERY", text: ({ delivery }) => delivery },
          { title: "MODE", text: ({ mode }) => mode },
          { title: "MESSAGE", text: ({ message }) => message, gives: true },
        ],
      });
    }),
  );

const edit = clientCommand("edit", "Change a follow-up that is still queued.")
  .argument("<run>", "its id or session link")
  .argument("<followup>", "its id")
  .option("--message <text>", "@path reads a file, - reads stdin")
  .addOption(modes())
  .action(
    withClient<{ message?: string; mode?: FollowupMode }>(async ({ client, out, flags }, run, followup) => {
      const message = flags.message === undefined ? undefined : await readText(flags.message);
      const body = given({ message, mode: flags.mode });
      if (Object.keys(body).length === 0) throw new Complaint("Give --message, --mode or both.");
      const document = await client.followups.update(runIdOf(run as string), followup as string, body);
      out.done({ document, id: document.followup_id, says: "Changed." });
    }),
  );

const withdraw = clientCommand("withdraw", "Take back a follow-up that is still queued.")
  .argument("<run>", "its id or session link")
  .argument("<followup>", "its id")
  .action(
    withClient(async ({ client, out }, run, followup) => {
      await client.followups.delete(runIdOf(run as string), followup as string);
      const document = { followup_id: followup, withdrawn: true };
      out.done({ document, id: followup as string, says: "Withdrawn." });
    }),
  );

export const followupsCommand = new Command("followups")
  .description("Follow-ups that a run has, and those still queued.")
  .addCommand(list)
  .addCommand(edit)
  .addCommand(withdraw);
