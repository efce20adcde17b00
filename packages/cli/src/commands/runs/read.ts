import type { TranscriptFormat } from "@outrider/sdk";
import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { UsageError } from "../../exit-codes.ts";
import { collectPages } from "../../input/collect-pages.ts";
import { numberParser } from "../../input/pairs.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { Status } from "../../terminal/status.ts";
import { follow } from "../../transcript/follow.ts";
import { summary } from "../../transcript/summary.ts";
import { TranscriptView } from "../../transcript/view.ts";

interface LogsFlags {
  follow?: true;
  after: number;
  full?: true;
  timeout?: number;
}

export const logsCommand = clientCommand("logs", "Show the events of a run.")
  .argument("<run>", RUN_ARGUMENT)
  .option("-f, --follow", "follow the run until it ends; Ctrl-C detaches without cancelling it")
  .option("--after <seq>", "only events after this sequence number", numberParser("--after"), 0)
  .option("--full", "show all output and full patches")
  .option(
    "--timeout <seconds>",
    "stop following after this time; the run continues",
    numberParser("--timeout"),
  )
  .action(
    withClient<LogsFlags>(async ({ client, out, flags }, given) => {
      const runId = await findRunId(client, given as string);
      const { after, timeout: timeoutSeconds } = flags;
      const isFull = flags.full === true;
      if (flags.follow) return follow({ client, out, runId, after, isFull, timeoutSeconds });
      if (timeoutSeconds !== undefined) throw new UsageError("--timeout requires --follow.");
      const events = await collectPages(client.events.list(runId, { after, limit: 1_000 }));
      if (out.isJson) return out.document({ run_id: runId, events });
      const view = new TranscriptView({ out, status: new Status(out, { isDisabled: true }), isFull });
      for (const event of events) view.show(event);
      if (out.isQuiet) return;
      const blocked = events.findLast(({ type }) => type === "run.blocked");
      const needsApproval = blocked?.type === "run.blocked" && blocked.data.publication_ids !== undefined;
      const { style, width } = out;
      const lines = summary(await client.runs.get(runId), { style, width, needsApproval });
      for (const line of lines) out.print(line);
    }),
  );

export const transcriptCommand = clientCommand("transcript", "Print the transcript of a run.")
  .argument("<run>", RUN_ARGUMENT)
  .addOption(
    new Option("--format <format>", "output format; default: markdown").choices([
      "markdown",
      "json",
      "ndjson",
    ]),
  )
  .action(
    withClient<{ format?: TranscriptFormat }>(async ({ client, out, flags }, given) => {
      const format = flags.format ?? (out.isJson ? "json" : "markdown");
      if (out.isJson && format !== "json")
        throw new UsageError(`--json cannot be combined with --format ${format}.`);
      const text = await client.runs.transcript(await findRunId(client, given as string), format);
      if (out.isJson) out.document(JSON.parse(text));
      else out.printUntrusted(text);
    }),
  );
