import type { Outrider, Publication, RunItem } from "@outrider/sdk";
import { clientCommand, withClient } from "../../client-command.ts";
import { exits, UsageError } from "../../exit-codes.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import {
  type CheckedOutBranch,
  checkOutBundle,
  checkOutRemoteBranch,
} from "../../local-git/checkout-branch.ts";
import { fetchCommit } from "../../local-git/fetch-commit.ts";
import { findCheckout, type LocalCheckout } from "../../local-git/find-checkout.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";
import { REPOSITORY_OPTION } from "./apply.ts";

/** Long enough for large bundles over slow connections. */
const TIMEOUT_MS = 300_000;

interface CheckoutFlags {
  repository?: string;
  branch?: string;
}

export const checkoutCommand = clientCommand(
  "checkout",
  "Switch your checkout of the run's repository to a branch with the commits of the run.",
)
  .argument("<run>", RUN_ARGUMENT)
  .option(...REPOSITORY_OPTION)
  .option("--branch <name>", "name of the local branch; default: the branch of the run")
  .action(
    withClient<CheckoutFlags>(async ({ client, out, flags }, given) => {
      const runId = await findRunId(client, given as string);
      const run = await client.runs.get(runId);
      const checkout = await findCheckout({ run, cwd: process.cwd(), path: flags.repository });
      if (!checkout.repository)
        throw new UsageError("The run started without a repository. Use `outrider runs apply` instead.", {
          exit: exits.failed,
        });
      const { publications, publishable } = await client.publications.list(runId);
      const { path } = checkout.repository;
      const pushed = publications.find((each) => each.path === path && isPushed(each));
      const proposed = publishable.find((each) => each.path === path)?.branch;
      const branch = flags.branch ?? pushed?.branch ?? proposed ?? `outrider/${runId.slice(-12)}`;
      let source = `commits of run ${runId}`;
      let result: CheckedOutBranch;
      if (pushed && checkout.remote) {
        const { git, remote } = checkout;
        result = await checkOutRemoteBranch({ git, remote, branch, remoteBranch: pushed.branch });
        source = `${remote}/${pushed.branch}`;
      } else {
        await fetchCommit(checkout, { out });
        const bundle = await readCommits(client, { run, checkout });
        result = await checkOutBundle({ git: checkout.git, branch, bundle });
      }
      const document = { run_id: runId, folder: checkout.git.folder, path, ...result };
      const commit = result.commit.slice(0, 12);
      const message = `Switched to ${sanitizeLine(branch)} at ${commit} (${sanitizeLine(source)}).`;
      out.done({ document, id: branch, message });
    }),
  );

function isPushed({ state }: Publication): boolean {
  return state === "PUSHED" || state === "DONE";
}

async function readCommits(
  client: Outrider,
  { run, checkout }: { run: RunItem; checkout: LocalCheckout },
): Promise<Uint8Array> {
  try {
    const path = checkout.repository?.path;
    return await client.runs.commits(run.run_id, path ? { path } : {}, { timeout: TIMEOUT_MS });
  } catch (error) {
    if ((error as { status?: number }).status !== 404) throw error;
    throw new UsageError(
      `The run has no commits for this repository. Its changes can be applied with \`outrider runs apply ${run.run_id}\`.`,
      { exit: exits.notFound, code: "resource_not_found" },
    );
  }
}
