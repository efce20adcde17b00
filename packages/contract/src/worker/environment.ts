import { z } from "zod";
import { DockerfileSource } from "../dockerfile.ts";
import { EnvironmentCheck, Network, Resources } from "../environment.ts";
import { GitAuthor } from "../publish-policy.ts";
import { Uuid } from "../text.ts";

/** Describes an environment, with everything that a worker needs to build it. */
export const AssignedEnvironment = z.object({
  environment_id: Uuid,
  version: z.int(),
  repos: z.array(
    z.object({
      url: z.string(),
      ref: z.string().optional(),
      path: z.string(),
      secret: z.string().optional(),
      submodules: z.boolean().optional(),
      lfs: z.boolean().optional(),
      sparse_paths: z.array(z.string()).optional(),
      forge_id: Uuid.optional().meta({
        description:
          "The connected forge that provides the credential. Absent if the repository has a secret.",
      }),
    }),
  ),
  docker_image: z.string().optional(),
  devcontainer: z.string().optional(),
  dockerfile: DockerfileSource.optional(),
  docker_image_secret: z.string().optional(),
  user: z.string().optional(),
  setup_commands: z.array(z.string()),
  start_commands: z.array(z.string()).optional(),
  variables: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: "Environment variables for setup commands." }),
  network: Network,
  git_host: z.string().optional().meta({ description: "Set if the network allows `preset:git`." }),
  resources: Resources.optional(),
  git_author: GitAuthor.optional(),
  checks: z.array(EnvironmentCheck).optional(),
  credentials: z.record(z.string(), z.string()).meta({
    description:
      "Values of the secrets that `repos` and `docker_image_secret` refer to. Used only for fetching and for redaction.",
  }),
  build_secrets: z.record(z.string(), z.string()).optional().meta({
    description: "Secret values for setup commands, also used for redaction. Kept in memory only.",
  }),
});
export type AssignedEnvironment = z.infer<typeof AssignedEnvironment>;
