import type { Outrider, RunItem } from "@outrider/sdk";
import { Complaint, exits } from "../exit.ts";
import { harmless } from "../terminal/harmless.ts";
import type { Output } from "../terminal/output.ts";
import { Status } from "../terminal/status.ts";
import { exitOf, summary } from "./summary.ts";
import { TranscriptView } from "./view.ts";

export interface Following {
  client: Outrider;
  out: Output;
  runId: string;
  /** Only events behind this one. */
  after?: number;
  isFull?: boolean;
  /** Shows nothing of the way, and the agent's last words at the end. */
  isSilent?: boolean;
  timeoutSeconds?: number | undefined;
}

/** Shows a run until it is final or asks something. Ctrl-C only stops the watching. Sets what the process ends with. */
export async function follow(following: Following): Promise<void> {
  const { client, out, runId, after = 0, isFull = false, isSilent = false, timeoutSeconds } = following;
  const status = new Status(out);
  const view = new TranscriptView({ out, status, isFull });
  const stream = client.runs.stream(runId, { after, deltas: true });
  let why: "interrupted" | "late" | "blocked" | undefined;
  const stop = (reason: typeof why) => {
    why ??= reason;
    stream.close();
  };
  const interrupt = () => stop("interrupted");
  process.on("SIGINT", interrupt);
  const timer =
    timeoutSeconds === undefined ? undefined : setTimeout(() => stop("late"), timeoutSeconds * 1_000);
  let lastWords = "";
  status.show("waits for a worker");
  try {
    for await (const event of stream) {
      if (event.type === "run.succeeded") lastWords = event.data.text;
      if (event.type === "message.agent.delta" && !out.isLive) continue;
      if (isSilent) status.show(`${runId} works`);
      else if (out.isJson) {
        if (event.type !== "message.agent.delta") out.line(event);
      } else if (!out.isQuiet) view.show(event);
      // An earlier question of the log may have been answered long ago.
      if (event.type === "run.blocked" && (await client.runs.get(runId)).state === "BLOCKED") stop("blocked");
    }
  } finally {
    process.off("SIGINT", interrupt);
    clearTimeout(timer);
    status.stop();
  }
  if (why === "interrupted") return detach(out, runId);
  if (why === "late")
    throw new Complaint(`Run ${runId} is still at work after ${timeoutSeconds} s; it goes on.`, {
      exit: exits.waitTimeout,
      code: "timeout",
    });
  conclude({ out, run: await client.runs.get(runId), isSilent, lastWords });
}

function conclude(from: { out: Output; run: RunItem; isSilent: boolean; lastWords: string }): void {
  const { out, run, isSilent } = from;
  process.exitCode = exitOf[run.state];
  if (isSilent) sayEnd(from);
  else if (out.isJson) return;
  else if (out.isQuiet) out.print(run.state);
  else for (const line of summary(run, out)) out.print(line);
}

function sayEnd({ out, run, lastWords }: { out: Output; run: RunItem; lastWords: string }): void {
  if (out.isJson) {
    out.document(run);
    return;
  }
  const { output } = run;
  // Who asked for a schema wants the answer that fits it.
  if (run.state === "SUCCEEDED" && output !== undefined) out.document(output);
  else if (run.state === "SUCCEEDED")
    out.printForeign(lastWords.endsWith("\n") ? lastWords : `${lastWords}\n`);
  else if (run.status_message) out.say(harmless(run.status_message.message));
  for (const line of summary(run, { style: out.errorStyle, width: out.width }).slice(1)) out.say(line);
}

function detach(out: Output, runId: string): void {
  process.exitCode = exits.interrupted;
  out.say("");
  out.say("Detached; the run goes on.");
  out.say(`  watch it again  outrider runs logs -f ${runId}`);
  out.say(`  end it          outrider runs cancel ${runId}`);
}
