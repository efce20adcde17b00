import type { Outrider, RunItem } from "@outrider/sdk";
import { exits, UsageError } from "../exit-codes.ts";
import type { Output } from "../terminal/output.ts";
import { sanitize } from "../terminal/sanitize.ts";
import { Status } from "../terminal/status.ts";
import { exitCodeByState, summary } from "./summary.ts";
import { TranscriptView } from "./view.ts";

export interface FollowOptions {
  client: Outrider;
  out: Output;
  runId: string;
  /** Shows only events after this sequence number. */
  after?: number;
  isFull?: boolean;
  /** Shows no events, only the final answer. */
  isSilent?: boolean;
  timeoutSeconds?: number | undefined;
}

/** Follows a run until it ends or asks a question, and sets the exit code. Ctrl-C detaches without cancelling the run. */
export async function follow(options: FollowOptions): Promise<void> {
  const { client, out, runId, after = 0, isFull = false, isSilent = false, timeoutSeconds } = options;
  const status = new Status(out);
  const view = new TranscriptView({ out, status, isFull });
  const stream = client.runs.stream(runId, { after, deltas: true });
  let stopReason: "interrupted" | "timeout" | "blocked" | undefined;
  const stop = (reason: typeof stopReason) => {
    stopReason ??= reason;
    stream.close();
  };
  const interrupt = () => stop("interrupted");
  process.on("SIGINT", interrupt);
  const timer =
    timeoutSeconds === undefined ? undefined : setTimeout(() => stop("timeout"), timeoutSeconds * 1_000);
  let finalAnswer = "";
  let needsApproval = false;
  status.show("Waiting for a worker");
  try {
    for await (const event of stream) {
      if (event.type === "run.succeeded") finalAnswer = event.data.text;
      if (event.type === "message.agent.delta" && !out.isLive) continue;
      if (isSilent) status.show(`Run ${runId} in progress`);
      else if (out.isJson) {
        if (event.type !== "message.agent.delta") out.line(event);
      } else if (!out.isQuiet) view.show(event);
      if (event.type === "run.blocked") needsApproval = event.data.publication_ids !== undefined;
      // Check the current state, because the question may have been answered already.
      if (event.type === "run.blocked" && (await client.runs.get(runId)).state === "BLOCKED") stop("blocked");
    }
  } finally {
    process.off("SIGINT", interrupt);
    clearTimeout(timer);
    status.stop();
  }
  if (stopReason === "interrupted") return detach(out, runId);
  if (stopReason === "timeout")
    throw new UsageError(`Run ${runId} is still in progress after ${timeoutSeconds} s. The run continues.`, {
      exit: exits.waitTimeout,
      code: "timeout",
    });
  printEnd({ out, run: await client.runs.get(runId), isSilent, finalAnswer, needsApproval });
}

interface End {
  out: Output;
  run: RunItem;
  isSilent: boolean;
  finalAnswer: string;
  needsApproval: boolean;
}

function printEnd(from: End): void {
  const { out, run, isSilent, needsApproval } = from;
  const { style, width } = out;
  process.exitCode = exitCodeByState[run.state];
  if (isSilent) printResult(from);
  else if (out.isJson) return;
  else if (out.isQuiet) out.print(run.state);
  else for (const line of summary(run, { style, width, needsApproval })) out.print(line);
}

function printResult({ out, run, finalAnswer, needsApproval }: End): void {
  if (out.isJson) {
    out.document(run);
    return;
  }
  const { output } = run;
  // With an output schema, print the structured output instead of the text.
  if (run.state === "SUCCEEDED" && output !== undefined) out.document(output);
  else if (run.state === "SUCCEEDED")
    out.printUntrusted(finalAnswer.endsWith("\n") ? finalAnswer : `${finalAnswer}\n`);
  else if (run.status_message) out.note(sanitize(run.status_message.message));
  const { errorStyle: style, width } = out;
  for (const line of summary(run, { style, width, needsApproval }).slice(1)) out.note(line);
}

function detach(out: Output, runId: string): void {
  process.exitCode = exits.interrupted;
  out.note("");
  out.note("Detached. The run continues.");
  out.note(`  follow it  outrider runs logs -f ${runId}`);
  out.note(`  cancel it  outrider runs cancel ${runId}`);
}
