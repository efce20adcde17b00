import { z } from "zod";
import { limits } from "./limits.ts";
import { BranchName, PublishKind } from "./publish-policy.ts";
import { PullRequest } from "./pull-request.ts";
import { RunCreatorInfo, RunStatusMessage } from "./run.ts";
import { Timestamp, text, Uuid } from "./text.ts";

export const PublicationState = z
  .enum(["AWAITING_APPROVAL", "QUEUED", "PUSHING", "PUSHED", "DONE", "FAILED", "REJECTED", "SUPERSEDED"])
  .meta({
    id: "PublicationState",
    description:
      "AWAITING_APPROVAL: a user must approve it. QUEUED, PUSHING: a worker pushes the branch. PUSHED: the branch is pushed, and the pull request follows. DONE, FAILED, REJECTED and SUPERSEDED (by newer changes) are final.",
  });
export type PublicationState = z.infer<typeof PublicationState>;

const Names = z.array(text({ max: 100 })).max(20);

export const PublicationRequest = z
  .strictObject({
    path: text({ max: 250 }).optional().meta({
      description: "Path of the repository in the workspace. Required if the run has changes in several.",
    }),
    kind: PublishKind.exclude(["none"]).optional().meta({
      description: "Default: what the environment's policy for the repository says.",
    }),
    branch: BranchName.optional().meta({
      description: "Must start with the policy's `branch_prefix`. Default: derived from the run's title.",
    }),
    title: text({ max: limits.titleCharacters }).optional().meta({
      description: "Title of the pull request. Default: what the agent proposed, or the run's title.",
    }),
    body: text({ min: 0, bytes: 32_768 }).optional().meta({
      description:
        "Text of the pull request. Outrider adds the verified commands, the cost and a link. Default: what the agent proposed, or its final answer.",
    }),
    labels: Names.optional(),
    reviewers: Names.optional(),
    issues: z
      .array(text({ max: 200 }))
      .max(20)
      .optional()
      .meta({
        description: "Issues that the pull request closes, such as `#12`.",
      }),
  })
  .meta({ id: "PublicationRequest", examples: [{ kind: "draft_pull_request", title: "Fix the parser" }] });
export type PublicationRequest = z.infer<typeof PublicationRequest>;

export const Publication = z
  .object({
    publication_id: Uuid,
    run_id: Uuid,
    turn: z.int(),
    path: z.string().meta({ description: "Path of the repository in the workspace." }),
    repository: z.string().meta({ description: "URL of the repository." }),
    kind: PublishKind.exclude(["none"]),
    state: PublicationState,
    branch: z.string(),
    base: z.string().optional(),
    commit: z.string().meta({ description: "The last commit that is published." }),
    title: z.string(),
    files_changed: z.int(),
    diff_bytes: z.int(),
    requested_by: z
      .object({
        type: z.enum(["user", "agent", "policy"]),
        user: RunCreatorInfo.optional().meta({ description: "Present for the type `user`." }),
      })
      .meta({ description: "`agent`: with a tool or `git push`. `policy`: by the environment or run." }),
    approval_reason: z.string().optional().meta({ description: "Why it needs approval." }),
    decided_by: RunCreatorInfo.optional().meta({ description: "Who approved or rejected it." }),
    decided_at: Timestamp.optional(),
    comment: z.string().optional().meta({ description: "The comment of the decision." }),
    pull_request: PullRequest.optional(),
    warnings: z.array(z.string()).optional().meta({
      description: "What the forge did not accept, such as unknown reviewers.",
    }),
    status_message: RunStatusMessage.optional().meta({
      description: "Why it failed, or why it is being retried.",
    }),
    created_at: Timestamp,
    finished_at: Timestamp.optional(),
  })
  .meta({ id: "Publication", description: "A request to push a run's changes and open a pull request." });
export type Publication = z.infer<typeof Publication>;

export const ListPublicationsResponse = z
  .object({
    publications: z.array(Publication),
    publishable: z
      .array(
        z.object({
          path: z.string(),
          repository: z.string(),
          kind: PublishKind.meta({ description: "The most that the policy allows." }),
          branch: z.string(),
          base: z.string().optional(),
          title: z.string().meta({ description: "The proposed title." }),
          body: z.string().meta({ description: "The proposed text." }),
          files_changed: z.int(),
          diff_bytes: z.int(),
          is_published: z.boolean().meta({ description: "Whether the latest changes are published." }),
          problem: z.string().optional().meta({ description: "Why the changes cannot be published." }),
        }),
      )
      .meta({ description: "The repositories with changes." }),
  })
  .meta({ id: "ListPublicationsResponse" });
export type ListPublicationsResponse = z.infer<typeof ListPublicationsResponse>;

export const PublicationDecisionRequest = z
  .strictObject({
    comment: text({ max: 10_000 }).optional().meta({
      description: "When rejecting, the agent continues with this comment. Without it, the run ends.",
    }),
  })
  .meta({ id: "PublicationDecisionRequest" });
