import type { TranscriptFormat } from "@outrider/sdk";
import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { Complaint } from "../../exit.ts";
import { gather } from "../../gather.ts";
import { runIdOf } from "../../input/named.ts";
import { asNumber } from "../../input/pairs.ts";
import { harmless } from "../../terminal/harmless.ts";
import { Status } from "../../terminal/status.ts";
import { follow } from "../../transcript/follow.ts";
import { paintLine } from "../../transcript/patch.ts";
import { summary } from "../../transcript/summary.ts";
import { TranscriptView } from "../../transcript/view.ts";

interface LogsFlags {
  follow?: true;
  after: number;
  full?: true;
  timeout?: number;
}

export const logsCommand = clientCommand("logs", "Show what a run has done, and with -f what it does.")
  .argument("<run>", "its id or session link")
  .option("-f, --follow", "until it ends; Ctrl-C stops the watching, not the run")
  .option("--after <seq>", "only events behind this one", asNumber("--after"), 0)
  .option("--full", "all output and whole patches")
  .option("--timeout <seconds>", "how long to follow; the run goes on", asNumber("--timeout"))
  .action(
    withClient<LogsFlags>(async ({ client, out, flags }, given) => {
      const runId = runIdOf(given as string);
      const { after, timeout: timeoutSeconds } = flags;
      const isFull = flags.full === true;
      if (flags.follow) return follow({ client, out, runId, after, isFull, timeoutSeconds });
      if (timeoutSeconds !== undefined) throw new Complaint("--timeout is for --follow.");
      const events = await gather(client.events.list(runId, { after, limit: 1_000 }));
      if (out.isJson) return out.document({ run_id: runId, events });
      const view = new TranscriptView({ out, status: new Status(out, { isStill: true }), isFull });
      for (const event of events) view.show(event);
      if (!out.isQuiet) for (const line of summary(await client.runs.get(runId), out)) out.print(line);
    }),
  );

export const transcriptCommand = clientCommand("transcript", "Print a run's whole transcript as a document.")
  .argument("<run>", "its id or session link")
  .addOption(
    new Option("--format <format>", "markdown where nothing is said").choices(["markdown", "json", "ndjson"]),
  )
  .action(
    withClient<{ format?: TranscriptFormat }>(async ({ client, out, flags }, given) => {
      const format = flags.format ?? (out.isJson ? "json" : "markdown");
      if (out.isJson && format !== "json") throw new Complaint(`--json and --format ${format} contradict.`);
      out.printForeign(await client.runs.transcript(runIdOf(given as string), format));
    }),
  );

export const diffCommand = clientCommand("diff", "Print what a run has changed, as a patch for `git apply`.")
  .argument("<run>", "its id or session link")
  .action(
    withClient(async ({ client, out }, given) => {
      const runId = runIdOf(given as string);
      const patch = await client.runs.diff(runId);
      if (out.isJson) return out.document({ run_id: runId, patch });
      if (patch === "") return out.say("It has changed nothing.");
      if (!out.isTerminal) return out.printForeign(patch);
      const lines = harmless(patch).trimEnd().split("\n");
      out.print(lines.map((line) => paintLine(line, out.style)).join("\n"));
    }),
  );
