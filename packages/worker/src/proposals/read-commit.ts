import { Failure } from "@outrider/agent/failure";
import type { CommitReader } from "@outrider/agent/skills/commit-reader";
import type { ProposalResult } from "@outrider/contract/proposal";
import { openCommit } from "../repositories/commit-reader.ts";
import type { Repositories, Repository, Resolved } from "../repositories/repository.ts";
import { RepositoryError } from "../repositories/repository-error.ts";
import { propose } from "./propose.ts";
import {
  isRelevant,
  isSearched,
  MAX_DEPTH,
  MAX_TEXT_BYTES,
  needsText,
  type RepositoryFiles,
  selectFiles,
} from "./repository-files.ts";

const MAX_FOLDERS_PER_LEVEL = 300;
/** Files whose texts are read. Together they stay below the limit of the reader. */
const MAX_TEXTS = 30;

/** Reads a repository's files at its current commit and proposes settings. Rejects with a RepositoryError. */
export async function proposeForRepository(
  repositories: Repositories,
  repository: Repository,
  signal: AbortSignal,
): Promise<ProposalResult> {
  const { commit, mirror } = await resolve(repositories, repository, signal);
  const files = await readFiles(openCommit({ mirror, commit, signal }));
  return { commit, ...propose(files) };
}

/** Fetches only the files that are read, if the server can send single files. */
async function resolve(
  repositories: Repositories,
  repository: Repository,
  signal: AbortSignal,
): Promise<Resolved> {
  const { sparsePaths: _, ...whole } = repository;
  try {
    return await repositories.resolve({ ...whole, sparsePaths: [], isFetched: needsText }, { signal });
  } catch (error) {
    const isUnsupported =
      error instanceof RepositoryError && /does not send single files/.test(error.message);
    if (!isUnsupported) throw error;
    return repositories.resolve(whole, { signal });
  }
}

async function readFiles(reader: CommitReader): Promise<RepositoryFiles> {
  const found: string[] = [];
  let folders = [""];
  for (let depth = 0; depth <= MAX_DEPTH && folders.length > 0; depth++) {
    const contents = await reader.read(folders, { maxBytes: 0 }).catch((error) => {
      // The lists of files in these folders are too large. What was found so far is used.
      if (error instanceof Failure) return [];
      throw error;
    });
    const below: string[] = [];
    for (const [index, content] of contents.entries()) {
      if (content.type !== "folder") continue;
      const parent = folders[index] ? `${folders[index]}/` : "";
      for (const { name, kind } of content.entries) {
        if (kind === "folder" && isSearched(name)) below.push(`${parent}${name}`);
        else if (kind !== "folder" && isRelevant(`${parent}${name}`)) found.push(`${parent}${name}`);
      }
    }
    folders = below.slice(0, MAX_FOLDERS_PER_LEVEL);
  }
  const paths = selectFiles(found);
  const readable = paths.filter(needsText).slice(0, MAX_TEXTS);
  const contents = await reader.read(readable, { maxBytes: MAX_TEXT_BYTES });
  const texts = readable.flatMap((path, index): [string, string][] => {
    const content = contents[index];
    return content?.type === "file" ? [[path, content.data.toString("utf8")]] : [];
  });
  return { paths, texts: new Map(texts) };
}
