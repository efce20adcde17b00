import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type {
  CloudEnvironmentRequest,
  EnvironmentProposal,
  EnvironmentRepository,
  Outrider,
  ProposalReason,
  ProposedSettings,
} from "@outrider/sdk";
import type { Command } from "commander";
import { clientCommand, globalFlags } from "../../client-command.ts";
import { connect } from "../../connection.ts";
import { exits, UsageError } from "../../exit-codes.ts";
import { parseRepository } from "../../input/environment.ts";
import { isInteractive, prompt } from "../../input/prompt.ts";
import { Output } from "../../terminal/output.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";

const POLL_MS = 400;

interface Proposal {
  settings: ProposedSettings;
  reasons: ProposalReason[];
}

interface ProposeFlags {
  secret?: string;
}

export const proposeCommand = clientCommand(
  "propose",
  "Propose an environment's image, setup commands and network from the lock files of a repository.",
)
  .argument(
    "<repository>",
    "owner/name or URL, with an optional #ref, or a folder on this machine such as . (read without a server)",
  )
  .option("--secret <name>", "secret with the credentials of the repository")
  .action(async (given: string, { secret }: ProposeFlags, command: Command) => {
    const globals = globalFlags(command);
    const out = new Output(globals);
    await out.prepare();
    if (isFolder(given)) showProposal(out, await proposeForFolder(given));
    else {
      const repository = { ...parseRepository(given), ...(secret === undefined ? {} : { secret }) };
      showProposal(out, await requestProposal(await connect(globals), out, repository));
    }
    await out.finish();
  });

const isFolder = (text: string) => /^(?:\.{1,2}(?:\/|$)|\/)/.test(text);

async function proposeForFolder(folder: string): Promise<Proposal> {
  const [{ propose }, { readFolder }] = await Promise.all([
    import("@outrider/worker/proposals/propose"),
    import("@outrider/worker/proposals/read-folder"),
  ]);
  try {
    return propose(readFolder(resolve(folder))) as Proposal;
  } catch (error) {
    throw new UsageError(`Cannot read ${folder}: ${(error as Error).message}`);
  }
}

/** Waits until a worker has read the repository. The server ends proposals that take too long. */
async function requestProposal(
  client: Outrider,
  out: Output,
  repository: EnvironmentRepository,
): Promise<EnvironmentProposal & Proposal> {
  let proposal = await client.proposals.create({ repository });
  out.note(`Reading ${sanitizeLine(nameOf(repository))}…`);
  while (proposal.state === "QUEUED" || proposal.state === "READING") {
    await pause(POLL_MS);
    proposal = await client.proposals.get(proposal.proposal_id);
  }
  const { settings, reasons = [], status_message } = proposal;
  if (settings) return { ...proposal, settings, reasons };
  const { message = "The repository cannot be read.", error_code } = status_message ?? {};
  throw new UsageError(message, { exit: exits.failed, code: error_code ?? "failed" });
}

const nameOf = ({ url, owner, repo }: EnvironmentRepository) => url ?? `${owner}/${repo}`;

function showProposal(out: Output, proposal: Proposal & Partial<EnvironmentProposal>): void {
  const { settings, reasons } = proposal;
  out.item({
    document: proposal,
    id: settings.docker_image ?? settings.devcontainer ?? settings.dockerfile?.path ?? "",
    fields: [...listSettings(settings), ["why", reasons.map(({ message }) => `- ${message}`).join("\n")]],
  });
  if (isEmpty(settings)) out.note(nothingFound);
}

const nothingFound =
  "No lock files found, so nothing is proposed. Choose an image and setup commands yourself.";

const isEmpty = ({ docker_image, devcontainer, dockerfile, setup_commands }: ProposedSettings) =>
  !docker_image && !devcontainer && !dockerfile && setup_commands.length === 0;

function listSettings(settings: ProposedSettings) {
  const { docker_image, devcontainer, dockerfile, setup_commands, network } = settings;
  const fields: [string, string | undefined][] = [
    ["image", docker_image],
    ["devcontainer", devcontainer],
    ["dockerfile", dockerfile?.path],
    ["setup", setup_commands.join("\n")],
    ["network", network && [network.mode, ...(network.allow ?? [])].join(" ")],
  ];
  return fields;
}

/**
 * Adds what the files of the first repository suggest to a new environment. Fields that are set stay as they are. Asks
 * for confirmation, unless `yes` is set.
 */
export async function addProposedSettings(
  client: Outrider,
  out: Output,
  { fields, yes }: { fields: Partial<CloudEnvironmentRequest>; yes?: true | undefined },
): Promise<Partial<CloudEnvironmentRequest>> {
  const [repository] = fields.repos ?? [];
  if (!repository) throw new UsageError("--propose requires --repo.");
  if (!yes && !isInteractive())
    throw new UsageError("Pass --yes to accept what --propose finds, or see it with `outrider env propose`.");
  const { settings, reasons } = await requestProposal(client, out, repository);
  if (isEmpty(settings)) {
    out.note(nothingFound);
    return fields;
  }
  const hasImage = [fields.docker_image, fields.devcontainer, fields.dockerfile].some(Boolean);
  const { docker_image, devcontainer, dockerfile, setup_commands, network } = settings;
  const proposed: ProposedSettings = {
    ...(docker_image && !hasImage ? { docker_image } : {}),
    ...(devcontainer && !hasImage ? { devcontainer } : {}),
    ...(dockerfile && !hasImage ? { dockerfile } : {}),
    setup_commands: fields.setup_commands ?? setup_commands,
    ...(network && !fields.network ? { network } : {}),
  };
  const shown = listSettings(proposed).filter(([, value]) => value);
  for (const [name, value = ""] of shown)
    for (const line of value.split("\n")) out.note(`  ${name.padEnd(12)}  ${sanitizeLine(line)}`);
  for (const { message } of reasons) out.note(sanitizeLine(`- ${message}`));
  if (!yes) {
    const answer = await prompt("Create the environment with these settings? [Y/n] ");
    if (/^n(o)?$/i.test(answer.trim())) throw new UsageError("Aborted.", { exit: exits.failed });
  }
  return { ...fields, ...proposed };
}
