export interface Entry {
  name: string;
  id: string;
  /** A program is a file that may be executed. */
  kind: "file" | "program" | "folder" | "link";
}

/** What lies at a path of a commit. */
export type Found =
  | { type: "file"; id: string; data: Buffer }
  | { type: "large"; size: number }
  | { type: "folder"; id: string; entries: Entry[] }
  | { type: "missing" }
  /** A link leads out of the repository. */
  | { type: "outside" };

/** The files of one commit of a repository. Links are followed within the commit and never out of it. */
export interface CommitFiles {
  /** In the order of the paths; the empty path is the root. Files larger than `maxBytes` are not read. */
  look(paths: readonly string[], options: { maxBytes: number }): Promise<Found[]>;
}
