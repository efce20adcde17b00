import type { Outrider, Publication } from "@outrider/sdk";
import type { Command } from "commander";
import { type Context, clientCommand, withClient } from "../../client-command.ts";
import { exits, UsageError } from "../../exit-codes.ts";
import { omitUndefined } from "../../input/pairs.ts";
import { confirm } from "../../input/prompt.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { readText } from "../../input/text.ts";
import { listPatchFiles } from "../../local-git/patch-files.ts";
import { readPatch } from "../../local-git/read-patch.ts";
import { sanitize, sanitizeLine } from "../../terminal/sanitize.ts";
import { statLines } from "../../transcript/patch-stat.ts";
import { printPublication, publicationFields, waitForPublication } from "./publication.ts";

interface DecideFlags {
  comment?: string;
  wait?: true;
  yes?: true;
}

function decisionCommand(name: string, description: string): Command {
  return clientCommand(name, description)
    .argument("<run>", RUN_ARGUMENT)
    .argument("[publication]", "publication ID or its first characters; default: the one that needs approval")
    .option("-y, --yes", "skip the confirmation");
}

export const approveCommand = decisionCommand("approve", "Approve what a run wants to publish.")
  .option("--comment <text>", "comment that is recorded; @path reads a file, - reads stdin")
  .option("-w, --wait", "wait until it is published")
  .action(
    withClient<DecideFlags>(async (context, run, given) => {
      const { client, out, flags } = context;
      const publication = await findPublication(client, { run: run as string, given });
      const { run_id, publication_id, branch } = publication;
      await review(context, publication, `Approve, and push to ${sanitizeLine(branch)}`);
      const approved = await client.publications.approve(run_id, publication_id, await readComment(flags));
      if (flags.wait) {
        printPublication(out, await waitForPublication({ client, out, publication: approved }));
        return;
      }
      out.done({ document: approved, id: publication_id, message: "Approved." });
    }),
  );

export const rejectCommand = decisionCommand("reject", "Reject what a run wants to publish.")
  .option(
    "--comment <text>",
    "what to change: the agent continues with it; @path reads a file, - reads stdin",
  )
  .action(
    withClient<DecideFlags>(async (context, run, given) => {
      const { client, out, flags } = context;
      const publication = await findPublication(client, { run: run as string, given });
      const { run_id, publication_id } = publication;
      await review(context, publication, "Reject");
      const document = await client.publications.reject(run_id, publication_id, await readComment(flags));
      const message = flags.comment ? "Rejected. The run continues with the comment." : "Rejected.";
      out.done({ document, id: publication_id, message });
    }),
  );

async function readComment({ comment }: DecideFlags) {
  return omitUndefined({ comment: comment === undefined ? undefined : await readText(comment) });
}

/** Finds the publication that needs approval, or the given one. */
async function findPublication(
  client: Outrider,
  { run, given }: { run: string; given: string | undefined },
): Promise<Publication> {
  const { publications } = await client.publications.list(await findRunId(client, run));
  const found = publications.filter(({ state, publication_id }) =>
    given === undefined ? state === "AWAITING_APPROVAL" : publication_id.startsWith(given.toLowerCase()),
  );
  const [first] = found;
  if (!first)
    throw new UsageError(
      given === undefined
        ? "Nothing that this run wants to publish needs approval."
        : `The run has no publication ${JSON.stringify(given)}. List them with \`outrider runs publications ${run}\`.`,
      { exit: given === undefined ? exits.failed : exits.notFound, code: "resource_not_found" },
    );
  if (found.length === 1) return first;
  const lines = found.map(
    ({ publication_id, repository, branch }) =>
      `  ${publication_id}  ${sanitizeLine(repository)}  ${sanitizeLine(branch)}`,
  );
  throw new UsageError(["The run has several publications. Name one of:", ...lines].join("\n"), {
    code: "ambiguous_id",
  });
}

/** Shows what will be published, and asks for confirmation. */
async function review(
  { client, out, flags }: Context<DecideFlags>,
  publication: Publication,
  action: string,
): Promise<void> {
  if (flags.yes) return;
  const { errorStyle: style } = out;
  for (const [name, value] of publicationFields(publication))
    if (value)
      out.note(`${style.dim(name.padEnd(12))}  ${sanitize(value).replaceAll("\n", `\n${" ".repeat(14)}`)}`);
  const files = listPatchFiles(new TextDecoder().decode(await readPatch(client, publication.run_id)));
  if (files.length > 0) out.note(statLines(files, { style, width: out.width }).join("\n"));
  out.note(`Read the changes with: outrider runs diff ${publication.run_id}`);
  await confirm(action, flags);
}
