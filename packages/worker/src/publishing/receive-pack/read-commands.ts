import type { PktLineReader } from "./pkt-line.ts";
import { ProtocolError } from "./protocol-error.ts";

/** A person pushes a few refs at once. `git push --mirror` can have more, and is refused anyway. */
const MAX_COMMANDS = 1_000;
const MAX_OPTIONS = 100;

export interface RefUpdate {
  /** All zeros for a new ref. */
  from: string;
  /** All zeros for the removal of a ref. */
  to: string;
  ref: string;
}

export interface PushCommands {
  updates: RefUpdate[];
  capabilities: ReadonlySet<string>;
}

/** Reads what a client wants to push. The pack follows. Push options are ignored. */
export async function readCommands(reader: PktLineReader): Promise<PushCommands> {
  const updates: RefUpdate[] = [];
  let capabilities = new Set<string>();
  for (let line = await reader.readLine(); line; line = await reader.readLine()) {
    const end = line.indexOf(0);
    const command = line.subarray(0, end < 0 ? undefined : end).toString();
    if (updates.length === 0 && end >= 0)
      capabilities = new Set(
        line
          .subarray(end + 1)
          .toString()
          .trim()
          .split(" "),
      );
    updates.push(parseUpdate(command.replace(/\n$/, "")));
    if (updates.length > MAX_COMMANDS) throw new ProtocolError("The push has too many refs.");
  }
  if (capabilities.has("push-options")) await skipOptions(reader);
  return { updates, capabilities };
}

function parseUpdate(command: string): RefUpdate {
  if (command.startsWith("shallow "))
    throw new ProtocolError("The clone is shallow. Run `git fetch --unshallow`, or push from the workspace.");
  const [, from, to, ref] = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40,64}) (.+)$/.exec(command) ?? [];
  if (!from || !to || !ref || from.length !== to.length)
    throw new ProtocolError("The request is not a git push.");
  return { from, to, ref };
}

async function skipOptions(reader: PktLineReader): Promise<void> {
  for (let count = 0; await reader.readLine(); count++)
    if (count >= MAX_OPTIONS) throw new ProtocolError("The push has too many options.");
}

export const isZero = (commit: string) => /^0+$/.test(commit);
