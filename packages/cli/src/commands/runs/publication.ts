import { setTimeout as pause } from "node:timers/promises";
import type { Outrider, Publication, PublicationState } from "@outrider/sdk";
import { exits, UsageError } from "../../exit-codes.ts";
import { bytes, counted } from "../../terminal/format.ts";
import type { Output } from "../../terminal/output.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";
import { Status } from "../../terminal/status.ts";

const FIRST_POLL_MS = 250;
const MAX_POLL_MS = 3_000;

const progress: Partial<Record<PublicationState, string>> = {
  QUEUED: "Waiting for a worker",
  PUSHING: "Pushing the branch",
  PUSHED: "Opening the pull request",
};

interface WaitOptions {
  client: Outrider;
  out: Output;
  publication: Publication;
  timeoutSeconds?: number | undefined;
}

/** Waits until a publication is final or needs approval, and shows what it waits for. */
export async function waitForPublication({
  client,
  out,
  publication,
  timeoutSeconds = Infinity,
}: WaitOptions): Promise<Publication> {
  const { run_id, publication_id } = publication;
  const status = new Status(out);
  const end = Date.now() + timeoutSeconds * 1_000;
  let latest = publication;
  let shown = "";
  try {
    for (
      let interval = FIRST_POLL_MS;
      progress[latest.state];
      interval = Math.min(interval * 1.5, MAX_POLL_MS)
    ) {
      const reason = latest.status_message?.message;
      const text = `${progress[latest.state]}${reason ? `: ${sanitizeLine(reason)}` : ""}`;
      if (text !== shown && !out.isLive && !out.isJson) out.note(text);
      shown = text;
      status.show(text);
      if (Date.now() >= end)
        throw new UsageError(
          `The publication is still ${latest.state} after ${timeoutSeconds} s. It continues: see \`outrider runs publications ${run_id}\`.`,
          { exit: exits.waitTimeout, code: "timeout" },
        );
      await pause(Math.min(interval, end - Date.now()));
      latest = await client.publications.get(run_id, publication_id);
    }
    return latest;
  } finally {
    status.stop();
  }
}

/** Prints the result of a publication and sets the exit code. */
export function printPublication(out: Output, publication: Publication): void {
  const { state, branch, pull_request, status_message, warnings = [], run_id, publication_id } = publication;
  process.exitCode = exitCodes[state];
  if (out.isJson) {
    out.document(publication);
    return;
  }
  for (const warning of warnings) out.note(`Warning: ${sanitizeLine(warning)}`);
  if (state === "DONE" || state === "PUSHED") {
    const result = pull_request?.url ?? branch;
    out.done({ document: publication, id: result, message: result });
    return;
  }
  if (out.isQuiet) out.print(state);
  const { message, remedy } = status_message ?? {};
  if (message) out.note(`${state}: ${sanitizeLine(message)}${remedy ? ` ${sanitizeLine(remedy)}` : ""}`);
  else out.note(explanations[state] ?? state);
  if (state === "AWAITING_APPROVAL")
    out.note(`Approve it with: outrider runs approve ${run_id} ${publication_id}`);
}

const exitCodes: Record<PublicationState, number> = {
  AWAITING_APPROVAL: exits.blocked,
  QUEUED: exits.ok,
  PUSHING: exits.ok,
  PUSHED: exits.ok,
  DONE: exits.ok,
  FAILED: exits.failed,
  REJECTED: exits.failed,
  SUPERSEDED: exits.failed,
};

const explanations: Partial<Record<PublicationState, string>> = {
  AWAITING_APPROVAL: "The publication needs approval.",
  FAILED: "The publication failed.",
  REJECTED: "The publication was rejected.",
  SUPERSEDED: "Newer changes of the run replace this publication.",
};

/** Returns what is or will be published. */
export function publicationFields(publication: Publication): [name: string, value: string | undefined][] {
  const { requested_by, decided_by, decided_at, pull_request, status_message } = publication;
  return [
    ["publication", publication.publication_id],
    ["state", publication.state],
    ["title", publication.title],
    ["repository", publication.repository],
    ["branch", publication.base ? `${publication.branch} → ${publication.base}` : publication.branch],
    ["kind", publication.kind],
    ["commit", publication.commit],
    ["changes", `${counted(publication.files_changed, "file")}, ${bytes(publication.diff_bytes)}`],
    ["requested by", requested_by.user?.display_name ?? requested_by.type],
    ["reason", publication.approval_reason],
    ["decided by", decided_by && `${decided_by.display_name}${decided_at ? ` at ${decided_at}` : ""}`],
    ["comment", publication.comment],
    ["pull request", pull_request && `${pull_request.url} (${pull_request.state})`],
    ["message", status_message?.message],
    ["remedy", status_message?.remedy],
  ];
}
