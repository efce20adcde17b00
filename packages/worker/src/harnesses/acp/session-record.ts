import { z } from "zod";
import { sandboxPaths } from "../../sandboxes/paths.ts";
import type { Sandbox } from "../../sandboxes/sandbox.ts";

/**
 * The agent's session and what it has seen of the run's log. It is stored in the home, beside the state of the agent
 * itself, so a snapshot always contains both or neither.
 */
const SessionRecord = z.object({
  harness: z.string().max(100),
  session_id: z.string().min(1).max(1_000),
  /** The last event of the log when the agent was given its last prompt. */
  seq: z.int().min(0),
  /** Later follow-ups that the agent was given. */
  followup_ids: z.array(z.string().max(100)).max(10_000),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

const path = `${sandboxPaths.home}/.outrider/session.json`;
const MAX_BYTES = 1024 * 1024;

/** Returns undefined if there is no usable record. Commands in the sandbox can change the file. */
export async function readSessionRecord(sandbox: Sandbox): Promise<SessionRecord | undefined> {
  const data = await sandbox.read(path, MAX_BYTES).catch(() => undefined);
  if (!data) return undefined;
  try {
    return SessionRecord.safeParse(JSON.parse(data.toString())).data;
  } catch {
    return undefined;
  }
}

export async function writeSessionRecord(sandbox: Sandbox, record: SessionRecord): Promise<void> {
  await sandbox.write(path, Buffer.from(`${JSON.stringify(record)}\n`));
}
