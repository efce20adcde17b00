import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { RunItem } from "@outrider/sdk";
import { exits, UsageError } from "../exit-codes.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { LocalGit } from "./git.ts";
import { normalizeRemoteUrl } from "./remote-url.ts";

export type RunRepository = NonNullable<NonNullable<RunItem["receipt"]>["repositories"]>[number];

export interface LocalCheckout {
  git: LocalGit;
  /** Absent if the run started in an empty workspace. */
  repository?: RunRepository;
  /** The name of the remote that is the run's repository. */
  remote?: string;
}

interface FindOptions {
  run: RunItem;
  cwd: string;
  /** The path of the repository in the workspace of the run. */
  path: string | undefined;
}

/**
 * Finds the local checkout of a run's repository: the current one, or the one in the folder that has the path of the repository in
 * the workspace. A remote with the repository's URL identifies it, or else the commit from which the run started.
 */
export async function findCheckout({ run, cwd, path }: FindOptions): Promise<LocalCheckout> {
  const all = run.receipt?.repositories ?? [];
  const current = await openCheckout(cwd);
  if (all.length === 0 && path === undefined) {
    if (current) return { git: current };
    throw new UsageError("This folder is not in a git repository. Change to a checkout, and try again.");
  }
  const wanted = path === undefined ? all : all.filter((each) => each.path === path.replace(/\/+$/, ""));
  if (wanted.length === 0) throw new UsageError(`The run has no repository at ${quote(path)}. ${known(all)}`);
  const found = await findByRemote(wanted, { cwd, current });
  const matches = found.length > 0 || !current ? found : await findByCommit(wanted, current);
  if (matches.length > 1)
    throw new UsageError(`Several repositories of the run match. Pass --repository. ${known(wanted)}`);
  const [match] = matches;
  if (match) return match;
  const [only] = wanted as [RunRepository];
  // The user has named the repository, so its checkout may have any URL.
  if (path !== undefined && current) return { git: current, repository: only };
  throw notFound(wanted, current);
}

async function openCheckout(folder: string): Promise<LocalGit | undefined> {
  try {
    const top = await new LocalGit(folder).find(["rev-parse", "--show-toplevel"]);
    return top ? new LocalGit(top) : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function findByRemote(
  wanted: RunRepository[],
  { cwd, current }: { cwd: string; current: LocalGit | undefined },
): Promise<LocalCheckout[]> {
  const found: LocalCheckout[] = [];
  for (const repository of wanted) {
    const git = [current, await openSubfolder(cwd, repository.path)];
    for (const candidate of git) {
      const remote = candidate && (await findRemote(candidate, repository.url));
      if (!remote) continue;
      found.push({ git: candidate, repository, remote });
      break;
    }
  }
  return found;
}

/** Opens the checkout whose top folder is a folder of the current one. The path comes from the server. */
async function openSubfolder(cwd: string, path: string): Promise<LocalGit | undefined> {
  if (path.split("/").some((part) => ["", ".", ".."].includes(part))) return undefined;
  try {
    const folder = realpathSync(join(cwd, path));
    const git = await openCheckout(folder);
    return git?.folder === folder ? git : undefined;
  } catch {
    return undefined;
  }
}

async function findByCommit(wanted: RunRepository[], git: LocalGit): Promise<LocalCheckout[]> {
  const found: LocalCheckout[] = [];
  for (const repository of wanted)
    if (await git.hasCommit(repository.commit)) found.push({ git, repository });
  return found;
}

async function findRemote(git: LocalGit, url: string): Promise<string | undefined> {
  const wanted = normalizeRemoteUrl(url);
  // The first list has the URLs as configured, the second one after `url.*.insteadOf`.
  const configured = (await git.find(["config", "--get-regexp", "^remote\\..*\\.url$"])) ?? "";
  const effective = (await git.find(["remote", "-v"])) ?? "";
  const remotes = [
    ...configured.matchAll(/^remote\.(.*)\.url (.*)$/gim),
    ...effective.matchAll(/^(\S+)\t(.*) \(fetch\)$/gm),
  ];
  return remotes.find(([, , each]) => normalizeRemoteUrl(each as string) === wanted)?.[1];
}

function notFound(wanted: RunRepository[], current: LocalGit | undefined): UsageError {
  const urls = wanted.map(({ url }) => sanitizeLine(url)).join(" or ");
  const where = current
    ? `${current.folder} is not a clone of ${urls}.`
    : "This folder is not in a git repository.";
  const here = current ? " To use this checkout anyway, pass --repository with its path in the run." : "";
  return new UsageError(`${where} Change to a clone of ${urls}, and try again.${here}`, {
    exit: exits.usage,
    code: "checkout_not_found",
  });
}

const quote = (text: string | undefined) => JSON.stringify(sanitizeLine(text ?? ""));

function known(repositories: RunRepository[]): string {
  if (repositories.length === 0) return "It started in an empty workspace.";
  return `Its repositories are: ${repositories.map(({ path }) => sanitizeLine(path)).join(", ")}.`;
}
