import { z } from "zod";
import { pattern, text, VariableName } from "./text.ts";

export const publishKinds = ["none", "branch", "pull_request", "draft_pull_request"] as const;

export const PublishKind = z.enum(publishKinds).meta({
  id: "PublishKind",
  description:
    "What becomes of a run's changes: nothing, a pushed branch, a pull request, or a draft pull request.",
});
export type PublishKind = z.infer<typeof PublishKind>;

const GitName = pattern(/^[^\p{Cc}<>]{1,128}$/u, "must be up to 128 characters without `<` and `>`");

export const GitAuthor = z
  .strictObject({ name: GitName, email: GitName.meta({ description: "An email address." }) })
  .meta({ id: "GitAuthor" });
export type GitAuthor = z.infer<typeof GitAuthor>;

/** A part of a branch name that git accepts at the beginning of one. */
const BranchPrefix = pattern(
  /^(?![-/.])(?!.*(\.\.|\/\/|\/\.|\.lock\/|@\{))[A-Za-z0-9._/-]{1,100}$/,
  "must be the beginning of a branch name, such as `outrider/`",
);

export const BranchName = pattern(
  /^(?![-/.])(?!.*(\.\.|\/\/|\/\.|@\{))(?!.*(\.lock|\.|\/)$)[^\s~^:?*[\\\p{Cc}]{1,200}$/u,
  "must be the name of a branch",
);

/** Globs as in a `.gitignore` file, but always relative to the root of the repository. */
const PathGlobs = z
  .array(
    pattern(
      /^(?!\/)(?!.*(^|\/)\.\.(\/|$))[^\p{Cc}]{1,250}$/u,
      "must be a path in the repository, where `*` stands for a part of a name and `**` for any folders",
    ),
  )
  .max(100);

const Names = z.array(text({ max: 100 })).max(20);

/** What CI systems execute. A pushed branch that changes these files can read CI's secrets. */
export const ciPaths = [
  ".github/workflows/**",
  ".github/actions/**",
  ".gitlab-ci.yml",
  ".gitea/workflows/**",
  ".forgejo/workflows/**",
  ".circleci/**",
  ".buildkite/**",
  ".woodpecker/**",
  ".woodpecker.yml",
  ".travis.yml",
  ".drone.yml",
  "azure-pipelines.yml",
  "bitbucket-pipelines.yml",
  "Jenkinsfile",
];

export const PublishPolicy = z
  .strictObject({
    publish: PublishKind.optional().meta({
      description: "The most that runs may publish. Default: `draft_pull_request`.",
    }),
    when: z.enum(["always", "on_success", "on_request"]).optional().meta({
      description:
        "When changes are published. `always`: at the end of each turn. `on_success`: at the end of each turn that succeeds. `on_request`: when a user or the agent asks for it. After the first time, each turn that succeeds updates the branch. Default: `on_request`.",
    }),
    base: BranchName.optional().meta({
      description:
        "The branch that pull requests are merged into. Default: `ref` if it is a branch, otherwise the default branch.",
    }),
    branch_prefix: BranchPrefix.optional().meta({
      description: "Beginning of the names of branches. Default: `outrider/`.",
    }),
    commit_uncommitted: z.boolean().optional().meta({
      description:
        "Whether changes that the agent did not commit are published as one commit. Default: true.",
    }),
    on_base_moved: z.enum(["none", "merge", "rebase"]).optional().meta({
      description:
        "What happens if `base` has new commits: nothing, or they are merged or the run's commits are rebased. The agent resolves conflicts. Default: `none`.",
    }),
    protected_paths: PathGlobs.optional().meta({
      description:
        "Files that runs must not change. A publication with changes to them is refused. Default: `.github/workflows/**`.",
    }),
    approval: z.enum(["none", "ci_files", "required"]).optional().meta({
      description:
        "Whether a user must approve before anything is pushed: never, if files change that CI executes or that `approval_paths` lists, or always. Default: `ci_files`.",
    }),
    approval_paths: PathGlobs.optional().meta({
      description: "More files whose changes need approval, such as scripts that CI executes.",
    }),
    max_diff_bytes: z.int().min(1_024).max(104_857_600).optional().meta({
      description: "Maximum size of the diff. Default: 5 MiB.",
    }),
    co_author: GitAuthor.optional().meta({ description: "Added to each commit as `Co-authored-by`." }),
    sign_off: z.boolean().optional().meta({
      description: "Whether each commit gets a `Signed-off-by` line of its author. Default: false.",
    }),
    signing_secret: VariableName.optional().meta({
      description:
        "Name of the secret with an SSH private key that signs commits. It never enters a sandbox.",
    }),
    labels: Names.optional().meta({ description: "Labels of new pull requests." }),
    reviewers: Names.optional().meta({ description: "Users who are asked to review new pull requests." }),
    follow_up: z
      .strictObject({ comments: z.boolean().optional(), checks: z.boolean().optional() })
      .optional()
      .meta({
        description:
          "What the agent continues to work on by itself: `comments` of users who may write to the repository, and failed `checks`. Default: neither.",
      }),
  })
  .meta({
    id: "PublishPolicy",
    description: "What runs may publish to a repository, and what must be approved.",
  });
export type PublishPolicy = z.infer<typeof PublishPolicy>;

type Optional = "base" | "co_author" | "signing_secret";
type Defaulted = { [K in Exclude<keyof PublishPolicy, Optional>]-?: NonNullable<PublishPolicy[K]> };
export type ResolvedPublishPolicy = Defaulted & Pick<PublishPolicy, Optional>;

/** Adds the defaults. */
export function resolvePublishPolicy(policy: PublishPolicy = {}): ResolvedPublishPolicy {
  const { follow_up = {}, ...rest } = policy;
  return {
    publish: "draft_pull_request",
    when: "on_request",
    branch_prefix: "outrider/",
    commit_uncommitted: true,
    on_base_moved: "none",
    protected_paths: [".github/workflows/**"],
    approval: "ci_files",
    approval_paths: [],
    max_diff_bytes: 5 * 1024 * 1024,
    sign_off: false,
    labels: [],
    reviewers: [],
    ...(rest as Partial<Defaulted>),
    follow_up: { comments: false, checks: false, ...follow_up },
  };
}

/** Returns whether a kind is at most what a policy allows. */
export function allowsKind(allowed: PublishKind, kind: PublishKind): boolean {
  const order: PublishKind[] = ["none", "branch", "draft_pull_request", "pull_request"];
  return order.indexOf(kind) <= order.indexOf(allowed);
}
