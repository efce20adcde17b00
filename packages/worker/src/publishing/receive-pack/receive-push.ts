/**
 * Answers one `git push`: reads the commands, refuses everything but one update of the run's branch, hands the pack over,
 * and reports what became of it.
 *
 * Invariants:
 * - Either the run's branch is updated or nothing is, as with `--atomic`.
 * - The pack is read only if the commands are acceptable; otherwise it is discarded.
 * - A client that sends too much, too slowly or something else is disconnected.
 */
import type { Readable, Writable } from "node:stream";
import { branchRef } from "./advertisement.ts";
import { PktLineReader } from "./pkt-line.ts";
import { isZero, type PushCommands, readCommands } from "./read-commands.ts";
import { PushReport } from "./report.ts";

/** A ref name with the capabilities of the client. */
const MAX_COMMAND_BYTES = 4_096;
/** Closing the connection with unread data would lose the answer, so that the rest of a refused pack is read. */
const MAX_DISCARDED_BYTES = 256 * 2 ** 20;
const KEEP_ALIVE_MS = 5_000;

/** What became of an accepted push. The messages are sentences that say what happened or what to do. */
export interface PushResult {
  messages: string[];
  /** A few words on why the branch was not updated. Absent if it was. */
  reason?: string;
}

export interface ReceivedPush {
  /** The new commit of the branch. */
  tip: string;
  pack: Readable;
  onProgress(message: string): void;
}

export interface ReceivePushOptions {
  branch: string;
  publish(push: ReceivedPush): Promise<PushResult>;
}

export async function receivePush(
  body: AsyncIterable<Buffer>,
  out: Writable,
  { branch, publish }: ReceivePushOptions,
): Promise<void> {
  const reader = new PktLineReader(body, { maxLineBytes: MAX_COMMAND_BYTES });
  const commands = await readCommands(reader);
  const { updates, capabilities } = commands;
  // Before a large pack, git sends a request without commands to see whether it would be answered.
  if (updates.length === 0) return;
  const report = new PushReport(out, capabilities);
  const refusal = refuse(commands, branch);
  if (refusal) {
    await reader.drain(MAX_DISCARDED_BYTES);
    report.message(refusal.message);
    report.finish(updates.map(({ ref }) => ({ ref, reason: refusal.reason })));
    return;
  }
  const [{ to: tip, ref }] = updates as [PushCommands["updates"][number]];
  const keepAlive = setInterval(() => report.keepAlive(), KEEP_ALIVE_MS);
  try {
    const onProgress = (message: string) => report.message(message);
    const { messages, reason } = await publish({ tip, pack: reader.rest(), onProgress });
    await reader.drain(MAX_DISCARDED_BYTES);
    for (const message of messages) report.message(message);
    report.finish([{ ref, reason }]);
  } finally {
    clearInterval(keepAlive);
  }
}

/** Returns why a push is not acceptable: a few words for each ref, and what to do. */
function refuse({ updates }: PushCommands, branch: string): { reason: string; message: string } | undefined {
  const allowed = branchRef(branch);
  const instead = `Only the branch ${branch} can be pushed. Run: git push origin HEAD:${allowed}`;
  const own = updates.find(({ ref }) => ref === allowed);
  if (own && isZero(own.to))
    return { reason: "branches cannot be deleted", message: `The branch ${branch} cannot be deleted.` };
  if (updates.some(({ ref }) => ref.startsWith("refs/tags/")))
    return { reason: "tags cannot be pushed", message: `Tags cannot be pushed. ${instead}` };
  if (!own) return { reason: `only ${branch} can be pushed`, message: instead };
  if (updates.length > 1)
    return { reason: "pushed with other refs", message: `Nothing was pushed. ${instead}` };
  return undefined;
}
