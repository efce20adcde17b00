import { z } from "zod";
import { ErrorCodeName } from "../errors/error.ts";
import { PublicationState } from "../publication.ts";
import { GitAuthor, PublishKind } from "../publish-policy.ts";
import { PullRequest } from "../pull-request.ts";
import { Sha256, Uuid } from "../text.ts";
import { AssignedEnvironment } from "./environment.ts";

const Commit = z.string().regex(/^[0-9a-f]{40,64}$/);

/** A secret that a commit contains. It never contains the value. */
export const SecretFinding = z.strictObject({
  commit: Commit,
  path: z
    .string()
    .max(4_096)
    .optional()
    .meta({ description: "Absent for the message or author of a commit." }),
  line: z.int().min(1).optional(),
  rule: z.string().max(100).meta({ description: "The name of the secret, or the kind of key." }),
});
export type SecretFinding = z.infer<typeof SecretFinding>;

/**
 * The commits of a run in one repository, which the worker took out of the sandbox and checked. `bundle` is absent if a
 * known secret is in them: they are then not stored.
 */
export const StagedCommits = z.strictObject({
  path: z.string().max(250),
  base_commit: Commit.meta({ description: "The commit that the run started from." }),
  tip: Commit,
  bundle: z.strictObject({ sha256: Sha256, size_bytes: z.int().min(0) }).optional(),
  commits: z.int().min(0).max(10_000),
  files: z
    .array(
      z.strictObject({
        path: z.string().max(4_096),
        status: z.enum(["added", "modified", "deleted", "renamed"]),
        kind: z.enum(["file", "symlink", "submodule"]).optional(),
      }),
    )
    .max(5_000)
    .meta({ description: "The files that differ from the base commit." }),
  has_more_files: z.boolean(),
  diff_bytes: z.int().min(0),
  secrets: z.array(SecretFinding).max(100),
  problems: z.array(z.string().max(1_000)).max(20).meta({
    description: "Why the commits cannot be published, such as an object that is too large.",
  }),
});
export type StagedCommits = z.infer<typeof StagedCommits>;

/** What a worker needs to know to stage the commits of a run. Policy decisions are made by the server. */
export const AssignedPublishing = z.object({
  repositories: z.array(
    z.object({
      path: z.string(),
      kind: PublishKind,
      when: z.enum(["always", "on_success", "on_request"]).optional().meta({
        description:
          "When the server publishes by itself, also because of the run's `publish`. For instructions.",
      }),
      branch: z.string(),
      base: z.string().optional(),
      commit_uncommitted: z.boolean(),
      on_base_moved: z.enum(["none", "merge", "rebase"]),
      max_diff_bytes: z.int(),
      published: z
        .object({ tip: Commit, commit: Commit })
        .optional()
        .meta({ description: "The staged commit that was pushed last, and what it became on the branch." }),
    }),
  ),
});
export type AssignedPublishing = z.infer<typeof AssignedPublishing>;

/** Reports staged commits, and asks for their publication. Repeating a request with its id has no further effect. */
export const PublishRequest = z.strictObject({
  run_id: Uuid,
  request_id: Uuid,
  trigger: z.enum(["turn_end", "agent", "push"]),
  outcome: z.enum(["succeeded", "failed"]).optional().meta({ description: "For `turn_end`." }),
  commits: z.array(StagedCommits).max(20),
  title: z.string().max(256).optional(),
  body: z.string().max(32_768).optional(),
});
export type PublishRequest = z.infer<typeof PublishRequest>;

export const RequestedPublication = z.object({
  publication_id: Uuid,
  path: z.string(),
  kind: PublishKind,
  state: PublicationState,
  branch: z.string(),
  message: z.string().optional().meta({ description: "What the agent must know, such as why it failed." }),
  pull_request: PullRequest.optional(),
});
export type RequestedPublication = z.infer<typeof RequestedPublication>;

export const PublishResponse = z.object({
  publications: z.array(RequestedPublication).meta({
    description: "The publications of this request and, for `turn_end`, all that await approval.",
  }),
  refusals: z.array(z.object({ path: z.string(), message: z.string() })),
});
export type PublishResponse = z.infer<typeof PublishResponse>;

export const ListRequestedRequest = z.strictObject({ run_id: Uuid, publication_ids: z.array(Uuid).max(20) });
export const ListRequestedResponse = z.object({ publications: z.array(RequestedPublication) });
export type ListRequestedResponse = z.infer<typeof ListRequestedResponse>;

export const PublicationTakeRequest = z.strictObject({ worker_id: Uuid });

/** A publication that a worker pushes, with the credential of the repository. */
export const AssignedPublication = z.object({
  publication_id: Uuid,
  token: Uuid,
  lease_ms: z.int(),
  run_id: Uuid,
  repository: AssignedEnvironment.shape.repos.element,
  credentials: AssignedEnvironment.shape.credentials,
  bundle: z.object({ sha256: Sha256, size_bytes: z.int() }),
  base_commit: Commit,
  tip: Commit,
  branch: z.string(),
  base: z.string().optional(),
  expected: Commit.optional().meta({
    description: "The commit that Outrider pushed to the branch last. Absent: the branch must not exist.",
  }),
  on_base_moved: z.enum(["none", "merge", "rebase"]),
  co_author: GitAuthor.optional(),
  sign_off: z.boolean(),
  signing_key: z.string().optional().meta({ description: "SSH private key. Kept in memory only." }),
});
export type AssignedPublication = z.infer<typeof AssignedPublication>;

export const PublicationFinishRequest = z.strictObject({
  worker_id: Uuid,
  token: Uuid,
  outcome: z.discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("pushed"),
      commit: Commit.meta({ description: "What the branch points to now." }),
      default_branch: z.string().optional(),
      is_forced: z.boolean(),
    }),
    z.strictObject({
      type: z.literal("failed"),
      error_code: ErrorCodeName,
      message: z.string().max(10_000),
      is_retryable: z.boolean(),
    }),
    z.strictObject({ type: z.literal("abandoned") }),
  ]),
});
export type PublicationFinishRequest = z.infer<typeof PublicationFinishRequest>;

/** Asks for the credential of a connected forge, to fetch a repository of something that the worker holds. */
export const RepositoryCredentialRequest = z.strictObject({
  worker_id: Uuid,
  forge_id: Uuid,
  url: z.string().max(2_048),
  holder: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("execution"), execution_id: Uuid }),
    z.strictObject({ type: z.literal("build"), build_id: Uuid, token: Uuid }),
    z.strictObject({ type: z.literal("shell"), shell_id: Uuid, token: Uuid }),
    z.strictObject({ type: z.literal("proposal"), proposal_id: Uuid }),
  ]),
});
export type RepositoryCredentialRequest = z.infer<typeof RepositoryCredentialRequest>;

export const RepositoryCredential = z.object({
  credential: z.string().meta({ description: "`user:token`. Kept in memory only." }),
  expires_at: z.string().optional(),
});
export type RepositoryCredential = z.infer<typeof RepositoryCredential>;
