import { cancelledNote, failedNote, recoveredNote } from "@outrider/agent/conversation/notes";
import type { LogEvent } from "@outrider/agent/event";
import type { SessionRecord } from "./session-record.ts";

export type UnseenEvent =
  | { type: "note"; text: string }
  | { type: "message"; event: Extract<LogEvent, { type: "message.user" | "run.created" }> };

/**
 * Lists what a session has not been told yet: messages of users, and how its earlier work ended. A session that was
 * loaded remembers its own work, but not what was lost with a worker after its last snapshot.
 */
export function listUnseen(
  log: readonly LogEvent[],
  seen: Pick<SessionRecord, "seq" | "followup_ids"> = { seq: 0, followup_ids: [] },
): UnseenEvent[] {
  const unseen: UnseenEvent[] = [];
  const delivered = new Set(seen.followup_ids);
  for (const event of log) {
    if ((event.seq ?? Number.POSITIVE_INFINITY) <= seen.seq) continue;
    switch (event.type) {
      case "run.created":
        unseen.push({ type: "message", event });
        break;
      case "message.user":
        if (delivered.has(event.data.followup_id)) break;
        delivered.add(event.data.followup_id);
        unseen.push({ type: "message", event });
        break;
      case "run.recovering":
        unseen.push({ type: "note", text: recoveredNote(`${event.data.reason}${lostSince(log, event)}`, 0) });
        break;
      case "run.failed":
        unseen.push({ type: "note", text: failedNote(event.data.status_message.message) });
        break;
      case "run.cancelled":
        unseen.push({ type: "note", text: cancelledNote });
        break;
    }
  }
  return unseen;
}

/** Names the commands whose effects on files are lost, because they may have had other effects. */
function lostSince(
  log: readonly LogEvent[],
  { data, seq: end = Number.POSITIVE_INFINITY }: Extract<LogEvent, { type: "run.recovering" }>,
): string {
  const { restored_seq = 0 } = data;
  const commands = log.flatMap((event) => {
    const { seq = Number.POSITIVE_INFINITY } = event;
    return event.type === "command.started" && seq > restored_seq && seq < end ? [event.data.command] : [];
  });
  if (commands.length === 0) return "";
  const shown = commands.slice(-MAX_COMMANDS).map((command) => `- ${command.slice(0, MAX_CHARACTERS)}`);
  return `\nYour files and your memory are those of an earlier moment. Since then you had also started these commands, \
whose file changes are lost:\n${shown.join("\n")}`;
}

const MAX_COMMANDS = 20;
const MAX_CHARACTERS = 500;
