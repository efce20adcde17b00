/** Length of the part that is derived from the run's title. */
const MAX_SLUG = 40;

/** Returns a name for a run's branch that no other run gets. The last part of a run ID is random. */
export function branchName(prefix: string, { runId, title }: { runId: string; title: string }): string {
  const slug = slugOf(title) || "run";
  return `${prefix}${slug}-${runId.replaceAll("-", "").slice(-8)}`;
}

/** Returns a text as lower-case words without accents, joined by hyphens. */
export function slugOf(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_SLUG)
    .replace(/^-|-$/g, "");
}

/** Identifies a repository independently of the protocol, user, port and letter case of its URL. */
export function repositoryKey(url: string): string {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(url)
    ? url.replace(/^[^:]*:\/\//, "")
    : url.replace(":", "/");
  return address
    .replace(/^[^/]*@/, "")
    .replace(/^([^/:]*):\d+/, "$1")
    .replace(/\/+/g, "/")
    .replace(/(\.git)?\/?$/i, "")
    .toLowerCase();
}
