/** A repository whose changes can be published. */
export interface PublishableRepository {
  /** Its folder, relative to the workspace. */
  path: string;
  branch: string;
  kind: "branch" | "pull_request" | "draft_pull_request";
  when: "always" | "on_success" | "on_request";
}

export interface PublishingParts {
  repositories: readonly PublishableRepository[];
  /** How the agent names the tool. Absent if it has none. */
  tool?: string | undefined;
}

const kindNames = {
  branch: "a branch",
  pull_request: "a pull request",
  draft_pull_request: "a draft pull request",
};

/** Tells the agent how its changes can be published, and when that happens by itself. */
export function publishingText({ repositories, tool }: PublishingParts): string {
  return repositories.map((repository) => describe(repository, { repositories, tool })).join("\n");
}

function describe(
  { path, branch, kind, when }: PublishableRepository,
  { repositories, tool }: PublishingParts,
): string {
  const subject = repositories.length === 1 ? "Your changes" : `Your changes in ${path}`;
  const byItself =
    when === "on_request"
      ? `${subject} can be published as ${kindNames[kind]}; publish them only if the user asks for it`
      : `${subject} are published as ${kindNames[kind]} when your turn ${when === "always" ? "ends" : "succeeds"}`;
  const push = `\`git push\` pushes HEAD to the branch ${branch}, the only one that can be pushed`;
  const opens = tool && kind !== "branch" ? `, and ${tool} also opens or updates the pull request` : "";
  return `${byItself}. Commit with ordinary git: ${push}${opens}.`;
}
