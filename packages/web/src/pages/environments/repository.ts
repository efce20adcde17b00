import type { CloudEnvironment } from "@outrider/sdk";

type Repository = CloudEnvironment["repos"][number];

/** Shortens a URL to its last two path segments, such as `acme/api`. */
export function shortAddress(url: string): string {
  const path = url.replace(/^[a-z]+:\/\/[^/]*/, "").replace(/^[^/]*:/, "");
  const parts = path
    .replace(/\.git$/, "")
    .split("/")
    .filter(Boolean);
  return parts.slice(-2).join("/") || url;
}

export function repositoryName({ url, owner, repo, ref }: Repository): string {
  const name = url ? shortAddress(url) : `${owner}/${repo}`;
  return ref ? `${name} at ${ref}` : name;
}

const publishLabels: Record<NonNullable<NonNullable<Repository["publish"]>["publish"]>, string> = {
  none: "publishes nothing",
  branch: "publishes branches",
  draft_pull_request: "publishes draft pull requests",
  pull_request: "publishes pull requests",
};

/** Returns the repository's name, and how it is checked out if that differs from the default. */
export function repositoryDetails(repository: Repository): string {
  const { path, sparse_paths, submodules, lfs, publish } = repository;
  const details = [
    repositoryName(repository) + (path ? ` in ${path}` : ""),
    ...(sparse_paths ? [`only ${sparse_paths.join(", ")}`] : []),
    ...(submodules === false ? ["no submodules"] : []),
    ...(lfs === false ? ["no Git LFS files"] : []),
    ...(publish?.publish ? [publishLabels[publish.publish]] : []),
  ];
  return details.join("; ");
}
