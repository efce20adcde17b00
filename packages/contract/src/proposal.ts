import { z } from "zod";
import { DevcontainerPath } from "./devcontainer.ts";
import { DockerfileSource } from "./dockerfile.ts";
import { Commands, Network, Repository } from "./environment.ts";
import { ImageReference } from "./image.ts";
import { RunStatusMessage } from "./run.ts";
import { Timestamp, text, Uuid } from "./text.ts";

export const EnvironmentProposalRequest = z
  .strictObject({
    repository: Repository.meta({ description: "As in `repos` of an environment." }),
  })
  .meta({
    id: "EnvironmentProposalRequest",
    examples: [{ repository: { owner: "acme", repo: "api", ref: "main" } }],
  });
export type EnvironmentProposalRequest = z.infer<typeof EnvironmentProposalRequest>;

/** Fields of an environment that a repository's files suggest. */
export const ProposedSettings = z
  .object({
    docker_image: ImageReference.optional(),
    devcontainer: DevcontainerPath.optional(),
    dockerfile: DockerfileSource.optional(),
    setup_commands: Commands,
    network: Network.optional().meta({ description: "Absent if no setup command needs the network." }),
  })
  .meta({
    id: "ProposedSettings",
    description: "Fields for an environment. Check them before you use them.",
  });
export type ProposedSettings = z.infer<typeof ProposedSettings>;

export const ProposalReason = z
  .object({
    field: z
      .enum(["docker_image", "devcontainer", "dockerfile", "setup_commands", "network"])
      .optional()
      .meta({ description: "The proposed field. Absent if the sentence says what is missing." }),
    message: text({ max: 2_000 }),
  })
  .meta({ id: "ProposalReason" });
export type ProposalReason = z.infer<typeof ProposalReason>;

export const ProposalState = z.enum(["QUEUED", "READING", "READY", "FAILED"]).meta({ id: "ProposalState" });
export type ProposalState = z.infer<typeof ProposalState>;

const result = {
  commit: z
    .string()
    .regex(/^[0-9a-f]{40,64}$/)
    .meta({ description: "The commit whose files were read." }),
  settings: ProposedSettings,
  reasons: z.array(ProposalReason).max(100).meta({
    description: "Why each field is proposed, and what is missing. Plain sentences.",
  }),
};

/** What a worker reports. Its settings come from a repository, so they are as limited as those of an environment. */
export const ProposalResult = z.strictObject(result);
export type ProposalResult = z.infer<typeof ProposalResult>;

export const EnvironmentProposal = z
  .object({
    proposal_id: Uuid,
    state: ProposalState,
    created_at: Timestamp,
    finished_at: Timestamp.optional(),
    commit: result.commit.optional(),
    settings: result.settings.optional().meta({ description: "Set if the state is READY." }),
    reasons: result.reasons.optional(),
    status_message: RunStatusMessage.optional().meta({
      description: "What went wrong, if the state is FAILED.",
    }),
  })
  .meta({
    id: "EnvironmentProposal",
    description:
      "Settings for an environment that a worker derives from the lock files of a repository. Deleted an hour after it was requested.",
  });
export type EnvironmentProposal = z.infer<typeof EnvironmentProposal>;
