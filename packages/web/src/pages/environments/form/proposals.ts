import type { EnvironmentProposal, EnvironmentRepository } from "@outrider/sdk";
import { outrider } from "../../../api.ts";
import { blankValues, type Values } from "./values.ts";

const POLL_MS = 500;

/** The fields that a proposal can change. */
export const proposableFields = [
  "docker_image",
  "devcontainer",
  "dockerfile",
  "setup_commands",
  "network",
] as const;
export type ProposableValues = Pick<Values, (typeof proposableFields)[number]>;

type Settings = NonNullable<EnvironmentProposal["settings"]>;

export interface FinishedProposal {
  settings: Settings;
  reasons: NonNullable<EnvironmentProposal["reasons"]>;
}

interface ReadOptions {
  signal: AbortSignal;
  /** Called when a worker has started to read the repository. */
  onTaken: () => void;
}

/** Requests a proposal and waits for it. Returns a message if the repository cannot be read. */
export async function readProposal(
  repository: Record<string, unknown>,
  { signal, onTaken }: ReadOptions,
): Promise<FinishedProposal | { message: string }> {
  const request = { repository: repository as EnvironmentRepository };
  let proposal = await outrider.proposals.create(request, { signal });
  while (proposal.state === "QUEUED" || proposal.state === "READING") {
    if (proposal.state === "READING") onTaken();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    proposal = await outrider.proposals.get(proposal.proposal_id, { signal });
  }
  const { settings, reasons = [], status_message } = proposal;
  return settings ? { settings, reasons } : { message: status_message?.message ?? "Try again." };
}

/** Adds proposed settings to those in the form. What the user has entered stays, except the image. */
export function applySettings(before: ProposableValues, settings: Settings): ProposableValues {
  const { docker_image, devcontainer, dockerfile, setup_commands, network } = settings;
  const hasSystem = [docker_image, devcontainer, dockerfile].some(Boolean);
  const commands = addTexts(before.setup_commands, setup_commands);
  const allow = network?.allow ?? [];
  return {
    docker_image: hasSystem ? docker_image : before.docker_image,
    devcontainer: hasSystem ? devcontainer : before.devcontainer,
    dockerfile: hasSystem ? (dockerfile ?? blankValues.dockerfile) : before.dockerfile,
    setup_commands: commands,
    network:
      allow.length === 0 || before.network.mode === "open"
        ? before.network
        : { mode: "allowlist", allow: addTexts(before.network.allow, allow) },
  };
}

/** Appends the texts that no row has yet. Empty rows are removed if there are others. */
function addTexts(rows: { text: string | undefined }[], texts: string[]): { text: string | undefined }[] {
  const filled = rows.filter(({ text }) => text !== undefined);
  const added = texts.filter((text) => !filled.some((row) => row.text === text)).map((text) => ({ text }));
  return filled.length + added.length > 0 ? [...filled, ...added] : rows;
}
