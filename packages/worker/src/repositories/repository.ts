import type { Readable } from "node:stream";
import type { Outbox } from "../publishing/outbox.ts";
import type { Access } from "./access.ts";
import type { Address } from "./address.ts";
import type { MirrorRequest } from "./mirror-archive.ts";
import type { TreeContents } from "./tree-contents.ts";

export interface Repository {
  /** An https or ssh URL, or a path that the operator allows. */
  url: string;
  /** A branch, tag, full or abbreviated commit id, or full name like refs/pull/7/head. Default: the default branch. */
  ref?: string;
  /** A full commit id, instead of a ref. */
  commit?: string;
  /** The value of a secret: `user:token`, a token, or a private key for ssh. */
  credential?: string;
  /**
   * The name of the credential's owner. Callers with the same name share a mirror. Without a name, only callers with
   * the same credential share one, so that no caller sees refs that only another credential can read.
   */
  sharedBy?: string;
  /**
   * The folders to check out. The mirror is then partial: it has all commits and folders, but only the files that a
   * checkout of these folders needs.
   */
  sparsePaths?: string[];
  /** With `sparsePaths`: fetches the files for which it returns true, instead of those that a checkout needs. */
  isFetched?: (path: string) => boolean;
}

export interface Resolved {
  commit: string;
  /** The full name of the ref. A branch is checked out as a branch. */
  ref?: string;
  /** The folder of a bare repository that contains the commit. */
  mirror: string;
  tree: TreeContents;
  /** Sentences that say what a checkout will not contain. */
  notices: string[];
}

/** A submodule to check out. */
export interface Submodule {
  /** Relative to the folder of the repository. */
  path: string;
  /** The path of the repository or submodule that contains it. Empty for the repository itself. */
  parent: string;
  /** Its name in `.gitmodules`. */
  name: string;
  url: string;
  commit: string;
  mirror: string;
  usesLfs: boolean;
  lfsObjects: string[];
}

/** What a checkout of a commit needs besides the mirror. */
export interface Contents {
  /** Parents precede their children. */
  submodules: Submodule[];
  /** Whether the mirror contains Git LFS files of the commit. */
  usesLfs: boolean;
  /** The ids of these files. */
  lfsObjects: string[];
  notices: string[];
}

export interface ContentsOptions {
  /** Whether to fetch submodules. Default: true. */
  submodules?: boolean;
  /** Whether to download Git LFS files, also those of submodules. Default: true. */
  lfs?: boolean;
  /** The environment's repositories. They lend their credentials to submodules with the same URL. */
  lenders: Repository[];
  signal: AbortSignal;
}

/** How git accesses a remote repository. Disposing it closes the files with keys. */
export interface Connection extends Disposable {
  address: Address;
  access: Access;
}

export interface Repositories {
  /** Resolves a repository to a commit and fetches what is missing. Rejects with a RepositoryError. */
  resolve(
    repository: Repository,
    options: { signal: AbortSignal; onProgress?: (text: string) => void },
  ): Promise<Resolved>;
  /**
   * Fetches the submodules and the Git LFS files of a resolved commit. This is separate from `resolve`, because a run
   * that starts from a build does not need them. Rejects with a RepositoryError.
   */
  fetchContents(repository: Repository, resolved: Resolved, options: ContentsOptions): Promise<Contents>;
  /** Streams what checkouts need from mirrors, for the stdin of a checkout script. Destroying the stream is safe. */
  streamMirrors(requests: MirrorRequest[], options: { signal: AbortSignal }): Readable;
  /**
   * Returns the mirror's folder if it exists and contains the commit. This does not contact the remote or check the
   * credential, so use it only for a commit that the run has already resolved.
   */
  find(repository: Repository, commit: string, options: { signal: AbortSignal }): Promise<string | undefined>;
  /**
   * Creates a bare repository for commits that are based on the commit. The mirror is fetched if it does not exist. Rejects
   * with a RepositoryError.
   */
  openOutbox(repository: Repository, options: { commit: string; signal: AbortSignal }): Promise<Outbox>;
  /** Opens access to the remote repository. Rejects with a RepositoryError. */
  connect(repository: Repository): Connection;
  /**
   * Removes the least recently used mirrors until the rest fit, except mirrors in use or in `keep`. Returns the removed
   * mirrors.
   */
  prune(options: { keep: string[]; maxBytes: number; signal?: AbortSignal }): Promise<string[]>;
  /** Returns the disk usage of all mirrors. */
  bytes(): number;
}
