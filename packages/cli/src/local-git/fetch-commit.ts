import type { Output } from "../terminal/output.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import type { LocalCheckout } from "./find-checkout.ts";

/**
 * Fetches the commit from which the run started, because a three-way merge needs its files. Without the commit, the
 * changes can still apply if the files have not changed since.
 */
export async function fetchCommit(
  { git, repository, remote }: LocalCheckout,
  { out }: { out: Output },
): Promise<void> {
  if (!repository || !remote || !isCommit(repository.commit) || (await git.hasCommit(repository.commit)))
    return;
  out.note(`Fetching ${repository.commit.slice(0, 12)} from ${sanitizeLine(remote)}.`);
  const args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote, repository.commit];
  await git.run(args);
}

/** The commit comes from the server. */
export function isCommit(text: string): boolean {
  return /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}
