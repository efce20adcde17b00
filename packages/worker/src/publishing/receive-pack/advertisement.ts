import { flushLine, pktLine } from "./pkt-line.ts";

/** What a client must know before it pushes to a branch. */
export interface AdvertisedBranch {
  branch: string;
  /** The commit that was pushed to the branch last. Absent if the branch does not exist. */
  tip?: string | undefined;
  /** A commit that the remote has, so that the client does not send its history. */
  known: string;
}

export const branchRef = (branch: string) => `refs/heads/${branch}`;

/**
 * Returns the answer to `info/refs?service=git-receive-pack`. Only the run's branch is listed, so that a client cannot
 * learn about others. Packs must be complete (`no-thin`), because the worker checks them by themselves.
 */
export function advertise({ branch, tip, known }: AdvertisedBranch): Buffer {
  const format = known.length === 64 ? "sha256" : "sha1";
  const capabilities = [
    ...["report-status", "side-band-64k", "atomic", "delete-refs", "ofs-delta", "no-thin", "push-options"],
    ...[`object-format=${format}`, "agent=outrider"],
  ].join(" ");
  const refs = [...(tip ? [`${tip} ${branchRef(branch)}`] : []), `${known} .have`];
  return Buffer.concat([
    ...startOf("git-receive-pack"),
    ...refs.map((line, index) => pktLine(index === 0 ? `${line}\0${capabilities}\n` : `${line}\n`)),
    flushLine,
  ]);
}

/** Returns an answer to `info/refs` that makes git print the reason and stop. */
export function refuseService(service: string, reason: string): Buffer {
  return Buffer.concat([...startOf(service), errorLine(reason)]);
}

/** Returns a line that git prints as an error of the remote. */
export const errorLine = (reason: string): Buffer => pktLine(`ERR ${reason}\n`);

const startOf = (service: string) => [pktLine(`# service=${service}\n`), flushLine];
