import type { Publication, PublicationRequest } from "@outrider/sdk";
import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { UsageError } from "../../exit-codes.ts";
import { collect, numberParser, omitUndefined } from "../../input/pairs.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { readText } from "../../input/text.ts";
import { printPublication, waitForPublication } from "./publication.ts";

interface PublishFlags {
  branchOnly?: true;
  draft?: true;
  ready?: true;
  branch?: string;
  title?: string;
  body?: string;
  label?: string[];
  reviewer?: string[];
  issue?: string[];
  repository?: string;
  wait: boolean;
  timeout?: number;
}

export const publishCommand = clientCommand(
  "publish",
  "Push the changes of a run to a branch and open a pull request.",
)
  .argument("<run>", RUN_ARGUMENT)
  .addOption(
    new Option("--branch-only", "push the branch without a pull request").conflicts(["draft", "ready"]),
  )
  .addOption(new Option("--draft", "open a draft").conflicts("ready"))
  .option("--ready", "open a pull request that is ready for review")
  .option("--branch <name>", "name of the branch; default: derived from the title of the run")
  .option("--title <text>", "title of the pull request; default: what the agent proposed")
  .option("--body <text>", "text of the pull request; @path reads a file, - reads stdin")
  .option("--label <name>", "label; repeatable", collect)
  .option("--reviewer <name>", "user who is asked for a review; repeatable", collect)
  .option("--issue <number>", "issue that the pull request closes, such as #12; repeatable", collect)
  .option("--repository <path>", "path of the repository in the run's workspace, if the run changed several")
  .option("-w, --wait", "wait until it is published or needs approval; this is the default")
  .option("--no-wait", "print the publication without waiting for it")
  .option("--timeout <seconds>", "stop waiting after this time", numberParser("--timeout"))
  .action(
    withClient<PublishFlags>(async ({ client, out, flags }, given) => {
      if (flags.timeout !== undefined && flags.wait === false)
        throw new UsageError("--timeout cannot be combined with --no-wait.");
      const runId = await findRunId(client, given as string);
      const publication = await client.publications.create(runId, await buildRequest(flags));
      if (flags.wait === false) {
        const { publication_id: id, state } = publication;
        out.done({ document: publication, id, message: `${id} (${state})` });
        return;
      }
      const timeoutSeconds = flags.timeout;
      printPublication(out, await waitForPublication({ client, out, publication, timeoutSeconds }));
    }),
  );

async function buildRequest(flags: PublishFlags): Promise<PublicationRequest> {
  const kinds = { branchOnly: "branch", draft: "draft_pull_request", ready: "pull_request" } as const;
  const kind = (Object.keys(kinds) as (keyof typeof kinds)[]).find((name) => flags[name]);
  return omitUndefined({
    path: flags.repository,
    kind: kind && kinds[kind],
    branch: flags.branch,
    title: flags.title,
    body: flags.body === undefined ? undefined : await readText(flags.body),
    labels: flags.label,
    reviewers: flags.reviewer,
    issues: flags.issue,
  });
}

export const publicationsCommand = clientCommand("publications", "List the publications of a run.")
  .argument("<run>", RUN_ARGUMENT)
  .action(
    withClient(async ({ client, out }, given) => {
      const document = await client.publications.list(await findRunId(client, given as string));
      out.list<Publication>({
        ...{ document, rows: document.publications, id: ({ publication_id }) => publication_id },
        emptyMessage: "No publications.",
        columns: [
          { title: "PUBLICATION", text: ({ publication_id }) => publication_id },
          { title: "STATE", text: ({ state }) => state },
          { title: "KIND", text: ({ kind }) => kind },
          { title: "BRANCH", text: ({ branch }) => branch },
          { title: "PULL REQUEST", text: ({ pull_request }) => pull_request?.url },
          { title: "MESSAGE", text: ({ status_message }) => status_message?.message, canShrink: true },
        ],
      });
    }),
  );
