import { z } from "zod";

export const pullRequestStates = ["draft", "open", "merged", "closed"] as const;

export const PullRequestState = z.enum(pullRequestStates).meta({ id: "PullRequestState" });
export type PullRequestState = z.infer<typeof PullRequestState>;

export const PullRequest = z
  .object({
    url: z.string().meta({ format: "uri" }),
    number: z.int(),
    repository: z.string().meta({ description: "Owner and name, such as `acme/api`." }),
    branch: z.string(),
    base: z.string(),
    state: PullRequestState,
    title: z.string().optional(),
  })
  .meta({ id: "PullRequest", description: "A pull request or merge request with a run's changes." });
export type PullRequest = z.infer<typeof PullRequest>;
