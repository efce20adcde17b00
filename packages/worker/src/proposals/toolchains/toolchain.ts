import type { NetworkPreset } from "@outrider/contract/environment";
import type { Folder } from "../repository-files.ts";

/** A language's tools: how to recognize a project in a folder, and what it needs. */
export interface Toolchain {
  /** As in "needs Node.js". */
  name: string;
  /** The preset for its package registry, if there is one. */
  preset?: NetworkPreset;
  /** Whether a project includes those in folders below its own. */
  coversFolders?: true;
  /** Returns undefined if the folder contains no project of this language. */
  find(folder: Folder): Project | undefined;
}

export interface Project {
  /** The file that identifies the project. */
  file: string;
  image: string;
  /** Why this image: a clause such as "`.nvmrc` names Node.js 20". */
  imageReason: string;
  /** Install the dependencies. They run in the project's folder. */
  commands: string[];
  /** What this proposal does not cover, as sentences. */
  notes?: string[];
}

/** Where a version comes from. */
export interface FoundVersion {
  version: string;
  source: string;
}

/** Returns the first version that one of the sources has. */
export function findVersion(
  ...sources: [source: string, version: string | undefined][]
): FoundVersion | undefined {
  const found = sources.find((each): each is [string, string] => each[1] !== undefined);
  return found && { source: found[0], version: found[1] };
}

export function noPreset(packages: string): string {
  return `No preset covers ${packages}: add the hosts that they are downloaded from to the allowed hosts.`;
}
