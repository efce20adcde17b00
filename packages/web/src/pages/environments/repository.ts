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

/** Returns the repository's name, and how it is checked out if that differs from the default. */
export function repositoryDetails(repository: Repository): string {
  const { path, sparse_paths, submodules, lfs } = repository;
  const details = [
    repositoryName(repository) + (path ? ` in ${path}` : ""),
    ...(sparse_paths ? [`only ${sparse_paths.join(", ")}`] : []),
    ...(submodules === false ? ["no submodules"] : []),
    ...(lfs === false ? ["no Git LFS files"] : []),
  ];
  return details.join("; ");
}
