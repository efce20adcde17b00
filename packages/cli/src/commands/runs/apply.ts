import type { Outrider, RunItem } from "@outrider/sdk";
import { clientCommand, withClient } from "../../client-command.ts";
import { exits } from "../../exit-codes.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { type AppliedPatch, applyPatch } from "../../local-git/apply-patch.ts";
import { fetchCommit } from "../../local-git/fetch-commit.ts";
import { findCheckout, type LocalCheckout } from "../../local-git/find-checkout.ts";
import { selectRepository } from "../../local-git/patch-files.ts";
import { readPatch } from "../../local-git/read-patch.ts";
import { counted } from "../../terminal/format.ts";
import type { Output } from "../../terminal/output.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";

interface ApplyFlags {
  check?: true;
  repository?: string;
}

export const REPOSITORY_OPTION = [
  "--repository <path>",
  "path of the repository in the run's workspace; default: the one that is checked out here",
] as const;

export const applyCommand = clientCommand(
  "apply",
  "Apply the changes of a run to your checkout of its repository, with a three-way merge.",
)
  .argument("<run>", RUN_ARGUMENT)
  .option("--check", "only report whether the changes apply")
  .option(...REPOSITORY_OPTION)
  .action(
    withClient<ApplyFlags>(async ({ client, out, flags }, given) => {
      const runId = await findRunId(client, given as string);
      const run = await client.runs.get(runId);
      const checkout = await findCheckout({ run, cwd: process.cwd(), path: flags.repository });
      const { patch, strip } = await readChanges(client, { run, checkout });
      await fetchCommit(checkout, { out });
      const isCheck = flags.check === true;
      const result =
        patch.length === 0
          ? { files: [], conflicts: [] }
          : await applyPatch({ git: checkout.git, patch, strip, isCheck });
      report(out, { runId, checkout, isCheck, result, isEmpty: patch.length === 0 });
    }),
  );

/** Reads the changes of the checkout's repository. With several repositories, paths are relative to the workspace. */
async function readChanges(
  client: Outrider,
  { run, checkout: { repository } }: { run: RunItem; checkout: LocalCheckout },
): Promise<{ patch: Uint8Array; strip: number }> {
  const patch = await readPatch(client, run.run_id);
  const paths = (run.receipt?.repositories ?? []).map(({ path }) => path);
  if (paths.length < 2 || !repository) return { patch, strip: 1 };
  const { path } = repository;
  return { patch: selectRepository(patch, { path, paths }), strip: 1 + path.split("/").length };
}

interface Report {
  runId: string;
  checkout: LocalCheckout;
  isCheck: boolean;
  result: AppliedPatch;
  isEmpty: boolean;
}

function report(out: Output, { runId, checkout, isCheck, result, isEmpty }: Report): void {
  const { files, conflicts } = result;
  const { folder } = checkout.git;
  if (conflicts.length > 0) process.exitCode = exits.failed;
  const path = checkout.repository?.path;
  const document = { run_id: runId, folder, ...(path ? { path } : {}), applied: !isCheck, files, conflicts };
  if (out.isJson) out.document(document);
  else if (isEmpty) out.note("The run has no changes in this repository.");
  else if (files.length === 0) out.note("The changes of the run are already here.");
  else if (out.isQuiet) out.print(files.map(sanitizeLine).join("\n"));
  else if (conflicts.length > 0) reportConflicts(out, { isCheck, result });
  else if (isCheck) out.print(`The changes of the run apply: ${counted(files.length, "file")}.`);
  else {
    out.print(`Changed ${counted(files.length, "file")}:\n${indent(files)}`);
    out.note("The changes are staged. Review them with `git diff --cached`.");
  }
}

function reportConflicts(
  out: Output,
  { isCheck, result: { files, conflicts } }: Pick<Report, "isCheck" | "result">,
): void {
  const changed = `Changed ${counted(files.length, "file")} with conflicts`;
  out.print(`${isCheck ? "The changes of the run conflict" : changed} in:\n${indent(conflicts)}`);
  if (!isCheck) out.note("Resolve the conflict markers, then stage the files with `git add`.");
}

function indent(paths: string[]): string {
  return paths.map((path) => `  ${sanitizeLine(path)}`).join("\n");
}
