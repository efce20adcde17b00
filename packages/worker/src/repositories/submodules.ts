/**
 * Resolves a commit's submodules, and theirs, to mirrors on this host.
 *
 * `.gitmodules` is written by the repository's authors, who may be hostile. It is read from the mirror, with limits, and
 * never takes effect by itself:
 * - Names and paths that git could misread, or that lead out of the checkout, are rejected.
 * - URLs obey the same rules as the environment's repositories (address.ts). In addition, only a repository on this
 *   machine can refer to another one on this machine.
 * - The parent's credential is used only for the same scheme and host. For other hosts, a repository in the environment
 *   with the submodule's URL lends its secret.
 * - `update`, which can contain a command, is ignored, except for `none`.
 */
import type { Address, AddressRules } from "./address.ts";
import { parseAddress } from "./address.ts";
import { type GitResult, git } from "./git.ts";
import type { Repository } from "./repository.ts";
import { authenticationRequired, RepositoryError, setupFailed } from "./repository-error.ts";
import type { TreeEntry } from "./tree-contents.ts";

export const MAX_SUBMODULES = 50;
export const MAX_SUBMODULE_DEPTH = 5;
const MAX_MODULES_BYTES = 256 * 1024;
const MAX_NAME_CHARACTERS = 500;
const READ_MS = 60_000;

export interface SubmoduleSource {
  /** The key of the submodule in `.gitmodules`. Git stores its objects in `.git/modules/NAME`. */
  name: string;
  /** Relative to the parent's folder. */
  path: string;
  commit: string;
  /** The URL of the submodule's `origin`. */
  url: string;
  /** How the worker fetches it. */
  repository: Repository;
}

export interface ParentRepository {
  repository: Repository;
  address: Address;
  mirror: string;
  commit: string;
}

interface FindOptions {
  parent: ParentRepository;
  gitlinks: TreeEntry[];
  /** The other repositories of the environment. */
  lenders: Repository[];
  rules: AddressRules;
  signal: AbortSignal;
  emitNotice(message: string): void;
}

/** Returns where to fetch the commit's submodules from. Rejects with a RepositoryError if one is invalid. */
export async function findSubmodules(options: FindOptions): Promise<SubmoduleSource[]> {
  const { parent, gitlinks, emitNotice } = options;
  const modules = await readModules(parent, options.signal);
  const sources = gitlinks.flatMap(({ path, id }) => {
    const settings = modules.get(path);
    if (settings?.update === "none") return [];
    if (!settings?.url) {
      emitNotice(
        `The submodule ${printable(path)} is not checked out, because .gitmodules has no URL for it.`,
      );
      return [];
    }
    return [sourceOf(options, { path, commit: id, name: settings.name, url: settings.url })];
  });
  const names = sources.map(({ name }) => name);
  const nested = names.find((name) => names.some((other) => other !== name && name.startsWith(`${other}/`)));
  if (nested !== undefined) throw invalid(parent, `name "${printable(nested)}"`);
  return sources;
}

function sourceOf(
  { parent, lenders, rules }: FindOptions,
  { path, commit, name, url }: { path: string; commit: string; name: string; url: string },
): SubmoduleSource {
  if (!isSafePath(path)) throw invalid(parent, `path "${printable(path)}"`);
  if (!isSafePath(name)) throw invalid(parent, `name "${printable(name)}"`);
  try {
    const address = parseAddress(resolveUrl(url, parent.repository.url), rules);
    if (address.kind === "file" && parent.address.kind !== "file") {
      throw setupFailed(
        "Only a repository on the worker's machine can have a submodule there.",
        "Use the submodule's https or ssh URL in .gitmodules.",
      );
    }
    const repository = { ...repositoryOf(address, parent, lenders), commit };
    return { name, path, commit, url: address.url, repository };
  } catch (error) {
    throw error instanceof RepositoryError ? explainSubmodule(error, { path, url }) : error;
  }
}

/** Returns the URL and the credential with which the worker fetches a submodule. */
function repositoryOf(address: Address, parent: ParentRepository, lenders: Repository[]): Repository {
  const lender = lenders.find(
    ({ url, credential }) => credential !== undefined && comparable(url) === comparable(address.url),
  );
  const { credential, sharedBy } = lender ?? parent.repository;
  const secret = {
    ...(credential === undefined ? {} : { credential }),
    ...(sharedBy === undefined ? {} : { sharedBy }),
  };
  if (lender) return { url: address.url, ...secret };
  const { kind, host } = parent.address;
  if (address.kind === kind && address.host === host) return { url: address.url, ...secret };
  // A token cannot open an ssh connection, but the same host offers the repository over https as well.
  const sameOverHttps = kind === "https" && credential ? httpsUrlOf(address.url, host) : undefined;
  return sameOverHttps ? { url: sameOverHttps, ...secret } : { url: address.url };
}

function httpsUrlOf(url: string, host: string): string | undefined {
  const path = [`git@${host}:`, `ssh://git@${host}/`].find((prefix) => url.startsWith(prefix));
  return path && `https://${host}/${url.slice(path.length).replace(/^\/+/, "")}`;
}

function comparable(url: string): string {
  return url.replace(/\/+$/, "").replace(/\.git$/, "");
}

/** Resolves a URL that starts with `./` or `../` against the parent's URL, as git does. */
export function resolveUrl(url: string, parentUrl: string): string {
  if (!/^\.\.?\//.test(url)) return url;
  let base = parentUrl.replace(/\/+$/, "");
  let rest = url;
  let separator = "/";
  for (;;) {
    if (rest.startsWith("./")) rest = rest.slice(2);
    else if (rest.startsWith("../")) {
      rest = rest.slice(3);
      const end = Math.max(base.lastIndexOf("/"), base.includes("://") ? -1 : base.lastIndexOf(":"));
      if (end < 0) return url;
      separator = base[end] as string;
      base = base.slice(0, end);
    } else return `${base}${separator}${rest.replace(/\/+$/, "")}`;
  }
}

interface ModuleSettings {
  name: string;
  path?: string;
  url?: string;
  update?: string;
}

/** Reads `.gitmodules`. Returns its submodules by path. */
async function readModules(
  parent: ParentRepository,
  signal: AbortSignal,
): Promise<Map<string, ModuleSettings>> {
  const blob = `${parent.commit}:.gitmodules`;
  const read = (args: string[]): Promise<GitResult> =>
    git({ args: ["--git-dir", parent.mirror, "--no-replace-objects", ...args], signal, timeoutMs: READ_MS });
  const { ok, stdout: size } = await read(["cat-file", "-s", blob]);
  if (!ok) return new Map();
  if (Number(size) > MAX_MODULES_BYTES) throw invalid(parent, "list: .gitmodules is too large");
  const { ok: isValid, stdout } = await read(["config", "--blob", blob, "--null", "--list"]);
  if (!isValid) throw invalid(parent, "list: git cannot read .gitmodules");
  const byName = new Map<string, ModuleSettings>();
  for (const entry of stdout.split("\0")) {
    const [, name, key, value] = /^submodule\.(.+)\.(path|url|update)\n(.*)$/s.exec(entry) ?? [];
    if (name === undefined || key === undefined) continue;
    const settings = byName.get(name) ?? { name };
    byName.set(name, { ...settings, [key]: value });
  }
  return new Map(
    [...byName.values()].flatMap((settings) => (settings.path ? [[settings.path, settings]] : [])),
  );
}

/** Git uses the name as a folder too, so the same rules apply to names and paths. */
function isSafePath(path: string): boolean {
  if (path.length > MAX_NAME_CHARACTERS || /^-|[\p{Cc}\uFFFD\\]/u.test(path)) return false;
  return path
    .split("/")
    .every((part) => part !== "" && part !== "." && part !== ".." && !/^\.git$/i.test(part));
}

function invalid({ address }: ParentRepository, what: string): RepositoryError {
  return setupFailed(
    `The repository ${address.url} has a submodule with an invalid ${what}.`,
    "Correct .gitmodules, or set `submodules` of the repository to false in the environment.",
  );
}

/** Adds the submodule's path and URL to an error. */
export function explainSubmodule(
  error: RepositoryError,
  { path, url }: { path: string; url: string },
): RepositoryError {
  const message = `Cannot fetch the submodule "${printable(path)}" from ${printable(url)}: ${error.message}`;
  const alternative = "or set `submodules` of the repository to false.";
  if (error.code === "external_authentication_required") {
    return authenticationRequired(
      message,
      `Add a repository with this URL and a secret to the environment, ${alternative}`,
    );
  }
  return new RepositoryError(error.code, message, `${error.remedy.replace(/\.$/, "")}, ${alternative}`);
}

export function tooManySubmodules(url: string): RepositoryError {
  return setupFailed(
    `The repository ${url} has more than ${MAX_SUBMODULES} submodules, or they are nested more than ${MAX_SUBMODULE_DEPTH} levels deep.`,
    "Set `submodules` of the repository to false, and fetch those that you need in a setup command.",
  );
}

function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\uFFFD]/gu, "?").slice(0, 200);
}
