export interface TreeEntry {
  name: string;
  id: string;
  /** A program is an executable file. */
  kind: "file" | "program" | "folder" | "link";
}

/** The content at a path in a commit. */
export type PathContent =
  | { type: "file"; id: string; data: Buffer }
  | { type: "large"; size: number }
  | { type: "folder"; id: string; entries: TreeEntry[] }
  | { type: "missing" }
  /** The path contains a symbolic link that points outside the repository. */
  | { type: "outside" };

/** Reads the files in one commit of a repository. Symbolic links are followed only within the commit. */
export interface CommitReader {
  /**
   * Returns the results in the order of the paths. The empty path is the root. Files larger than `maxBytes` are not
   * read.
   */
  read(paths: readonly string[], options: { maxBytes: number }): Promise<PathContent[]>;
}
