import type { Forge, ForgeTestStep } from "@outrider/sdk";

export const forgeLabels: Record<Forge["type"], string> = {
  github: "GitHub",
  gitlab: "GitLab",
  gitea: "Gitea or Forgejo",
};

export const stepLabels: Record<ForgeTestStep["step"], string> = {
  authenticate: "Sign in",
  read_repository: "Read the repository",
  clone: "Clone",
  push: "Push a scratch branch",
  pull_request: "Open and close a draft pull request",
  clean_up: "Delete the scratch branch",
};

/** The page that creates a GitHub App. Only a full page load allows the form to be sent to the forge's host. */
export function appPage({
  url,
  organization,
}: {
  url?: string | undefined;
  organization?: string | undefined;
}) {
  const query = new URLSearchParams();
  if (url) query.set("host", url);
  if (organization) query.set("organization", organization);
  return `/settings/forges/github-app/new${query.size > 0 ? `?${query}` : ""}`;
}

/** Returns the app that GitHub's redirect completes. The server puts its ID at the beginning of `state`. */
export function manifestOf(state: string): string | undefined {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.)/i.exec(state)?.[0];
}
