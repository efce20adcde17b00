import { type PublishPolicy, resolvePublishPolicy } from "@outrider/contract/publish-policy";
import type { CloudEnvironment } from "@outrider/sdk";

type Policy = NonNullable<CloudEnvironment["repos"][number]["publish"]>;
type Text = string | undefined;

/** The fields of a repository's publish policy. An empty field stands for the default. */
export interface PublishValues {
  publish_publish: Text;
  publish_when: Text;
  publish_base: Text;
  publish_branch_prefix: Text;
  publish_approval: Text;
  /** Paths, separated by commas. "none" stands for an empty list. */
  publish_protected_paths: Text;
  publish_approval_paths: Text;
  publish_on_base_moved: Text;
  /** "comments", "checks", "both" or empty. */
  publish_follow_up: Text;
  publish_labels: Text;
  publish_reviewers: Text;
  /** "skip" or empty. */
  publish_commit_uncommitted: Text;
  publish_max_diff_bytes: Text;
  /** `Name <email>`. */
  publish_co_author: Text;
  /** "add" or empty. */
  publish_sign_off: Text;
  publish_signing_secret: Text;
}

export const blankPublish: PublishValues = {
  publish_publish: undefined,
  publish_when: undefined,
  publish_base: undefined,
  publish_branch_prefix: undefined,
  publish_approval: undefined,
  publish_protected_paths: undefined,
  publish_approval_paths: undefined,
  publish_on_base_moved: undefined,
  publish_follow_up: undefined,
  publish_labels: undefined,
  publish_reviewers: undefined,
  publish_commit_uncommitted: undefined,
  publish_max_diff_bytes: undefined,
  publish_co_author: undefined,
  publish_sign_off: undefined,
  publish_signing_secret: undefined,
};

export const publishDefaults = resolvePublishPolicy();

const MIB = 1024 * 1024;

export function publishValuesOf(policy: Policy | undefined): PublishValues {
  if (!policy) return blankPublish;
  const { follow_up = {}, co_author, max_diff_bytes, protected_paths, approval_paths } = policy;
  const { comments, checks } = follow_up;
  return {
    publish_publish: policy.publish,
    publish_when: policy.when,
    publish_base: policy.base,
    publish_branch_prefix: policy.branch_prefix,
    publish_approval: policy.approval,
    publish_protected_paths: joined(protected_paths),
    publish_approval_paths: joined(approval_paths),
    publish_on_base_moved: policy.on_base_moved,
    publish_follow_up: comments ? (checks ? "both" : "comments") : checks ? "checks" : undefined,
    publish_labels: policy.labels?.join(", "),
    publish_reviewers: policy.reviewers?.join(", "),
    publish_commit_uncommitted: policy.commit_uncommitted === false ? "skip" : undefined,
    publish_max_diff_bytes: max_diff_bytes === undefined ? undefined : String(max_diff_bytes / MIB),
    publish_co_author: co_author && `${co_author.name} <${co_author.email}>`,
    publish_sign_off: policy.sign_off ? "add" : undefined,
    publish_signing_secret: policy.signing_secret,
  };
}

/** Returns the policy, or undefined if every field is empty. */
export function policyOf(values: PublishValues): object | undefined {
  const followUp = values.publish_follow_up;
  const diff = values.publish_max_diff_bytes;
  const author = values.publish_co_author;
  const policy: Record<keyof PublishPolicy, unknown> = {
    publish: values.publish_publish,
    when: values.publish_when,
    base: values.publish_base,
    branch_prefix: values.publish_branch_prefix,
    approval: values.publish_approval,
    protected_paths: split(values.publish_protected_paths),
    approval_paths: split(values.publish_approval_paths),
    on_base_moved: values.publish_on_base_moved,
    follow_up: followUp && { comments: followUp !== "checks", checks: followUp !== "comments" },
    labels: split(values.publish_labels),
    reviewers: split(values.publish_reviewers),
    commit_uncommitted: values.publish_commit_uncommitted ? false : undefined,
    max_diff_bytes: diff === undefined ? undefined : Math.round(Number(diff) * MIB),
    co_author: author === undefined ? undefined : authorOf(author),
    sign_off: values.publish_sign_off ? true : undefined,
    signing_secret: values.publish_signing_secret,
  };
  const set = Object.entries(policy).filter(([, value]) => value !== undefined);
  return set.length > 0 ? Object.fromEntries(set) : undefined;
}

/** Summarizes the policy in a few words. */
export function describePolicy(values: Pick<PublishValues, "publish_publish" | "publish_when">): string {
  const kind =
    (values.publish_publish as NonNullable<Policy["publish"]> | undefined) ?? publishDefaults.publish;
  const when = (values.publish_when as NonNullable<Policy["when"]> | undefined) ?? publishDefaults.when;
  return kind === "none" ? kindLabels.none : `${kindLabels[kind]}, ${whenLabels[when].toLowerCase()}`;
}

export const kindLabels: Record<NonNullable<Policy["publish"]>, string> = {
  draft_pull_request: "Draft pull requests",
  pull_request: "Pull requests",
  branch: "Branches only",
  none: "Nothing",
};

export const whenLabels: Record<NonNullable<Policy["when"]>, string> = {
  on_request: "On request",
  on_success: "When a turn succeeds",
  always: "After every turn",
};

export const approvalLabels: Record<NonNullable<Policy["approval"]>, string> = {
  ci_files: "If files that CI executes change",
  required: "Always",
  none: "Never",
};

export const baseMovedLabels: Record<NonNullable<Policy["on_base_moved"]>, string> = {
  none: "Do nothing",
  merge: "Merge the base",
  rebase: "Rebase on the base",
};

function joined(paths: readonly string[] | undefined): Text {
  return paths && (paths.length === 0 ? "none" : paths.join(", "));
}

function split(text: Text): string[] | undefined {
  if (text === undefined) return undefined;
  if (text.trim().toLowerCase() === "none") return [];
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

/** The schema rejects an author without a name or an email address. */
function authorOf(text: string): { name: string; email: string } {
  const [, name = text, email = ""] = /^(.*?)\s*<([^<>]*)>$/.exec(text.trim()) ?? [];
  return { name, email };
}
