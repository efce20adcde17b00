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
