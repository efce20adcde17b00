import { Failure } from "@outrider/agent/failure";
import type { CommitReader, PathContent, TreeEntry } from "@outrider/agent/skills/commit-reader";
import { git } from "./git.ts";

const GIT_TIMEOUT_MS = 60_000;
/** A safety limit that no caller should reach. */
const MAX_OUTPUT_BYTES = 64 * 2 ** 20;
/** Parsing folders blocks the worker. The largest folders of public repositories take up about 1 MB. */
const MAX_FOLDER_BYTES = 8 * 2 ** 20;

interface Options {
  /** A mirror that contains the commit. */
  mirror: string;
  commit: string;
  signal: AbortSignal;
}

interface Header {
  id: string;
  type: string;
  size: number;
}

/**
 * Opens a commit in a mirror, so that its files can be read without a checkout. git resolves symlinks and never leaves
 * the commit.
 */
export function openCommit({ mirror, commit, signal }: Options): CommitReader {
  const idBytes = commit.length / 2;

  async function catFile(flag: string, objects: string[]): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    const args = ["--git-dir", mirror, "--no-replace-objects", "cat-file", flag, "--follow-symlinks"];
    const result = await git({
      args,
      signal,
      timeoutMs: GIT_TIMEOUT_MS,
      stdin: objects.map((object) => `${object}\n`).join(""),
      onOutput(data) {
        size += data.length;
        if (size <= MAX_OUTPUT_BYTES) chunks.push(data);
      },
    });
    if (!result.ok || size > MAX_OUTPUT_BYTES) {
      throw new Error(`Failed to read a mirror: ${result.endReason ?? result.stderr.slice(0, 500)}`);
    }
    return Buffer.concat(chunks);
  }

  return {
    async read(paths, { maxBytes }) {
      if (paths.length === 0) return [];
      // git reads one object per line, so a path with a line break cannot be requested. It is replaced with an id that
      // no object has.
      const missingId = "0".repeat(commit.length);
      const requests = paths.map((path) => (/[\n\0]/.test(path) ? missingId : `${commit}:${path}`));
      const headers = readHeaders(await catFile("--batch-check", requests));
      const wanted = headers.map((header) =>
        typeof header === "object" && (header.type === "tree" || header.size <= maxBytes)
          ? header
          : undefined,
      );
      requireSmallFolders(wanted);
      const ids = [...new Set(wanted.flatMap((header) => header?.id ?? []))];
      const contents =
        ids.length > 0 ? readContents(await catFile("--batch", ids)) : new Map<string, Buffer>();
      // Many paths can lead to the same folder.
      const folders = new Map<string, TreeEntry[]>();
      const entriesOf = (id: string) => {
        const entries = folders.get(id) ?? readTree(contents.get(id) as Buffer, idBytes);
        folders.set(id, entries);
        return entries;
      };
      return headers.map((header): PathContent => {
        if (typeof header === "string") return { type: header };
        const { id, type } = header;
        if (type === "tree") return { type: "folder", id, entries: entriesOf(id) };
        if (type !== "blob") return { type: "missing" };
        const data = contents.get(id);
        return data ? { type: "file", id, data } : { type: "large", size: header.size };
      });
    },
  };
}

function requireSmallFolders(wanted: (Header | undefined)[]): void {
  const sizes = new Map(
    wanted.flatMap((header) => (header?.type === "tree" ? [[header.id, header.size] as const] : [])),
  );
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  if (bytes <= MAX_FOLDER_BYTES) return;
  throw new Failure(
    "skill_invalid",
    `The repository cannot be searched for skills: the lists of files in its folders take up ${bytes} bytes, and the limit is ${MAX_FOLDER_BYTES}. Move the skills to a smaller repository.`,
  );
}

/**
 * Parses the output of `cat-file --batch-check`: one line per object. If a path cannot be resolved, the line contains a
 * size, and that many bytes follow.
 */
function readHeaders(output: Buffer): (Header | "missing" | "outside")[] {
  const headers: (Header | "missing" | "outside")[] = [];
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf("\n", at);
    const line = output.toString("utf8", at, end);
    at = end + 1;
    const object = /^([0-9a-f]{40,64}) ([a-z]+) (\d+)$/.exec(line);
    const unresolved = /^(symlink|dangling|loop|notdir) (\d+)$/.exec(line);
    if (object) headers.push({ id: object[1] as string, type: object[2] as string, size: Number(object[3]) });
    else headers.push(unresolved?.[1] === "symlink" ? "outside" : "missing");
    if (unresolved) at += Number(unresolved[2]) + 1;
  }
  return headers;
}

/** Parses the output of `cat-file --batch`. Returns the contents by id. */
export function readContents(output: Buffer): Map<string, Buffer> {
  const contents = new Map<string, Buffer>();
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf("\n", at);
    const [id = "", , size = "0"] = output.toString("latin1", at, end).split(" ");
    at = end + 1;
    contents.set(id, output.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
  return contents;
}

const kinds = new Map<string, TreeEntry["kind"]>([
  ["40000", "folder"],
  ["120000", "link"],
  ["100755", "program"],
]);

/** Parses a tree object. Each entry has a mode, a name and a binary id. */
function readTree(data: Buffer, idBytes: number): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < data.length; ) {
    const space = data.indexOf(" ", at);
    const end = data.indexOf(0, space);
    const mode = data.toString("latin1", at, space);
    const name = data.toString("utf8", space + 1, end);
    const id = data.toString("hex", end + 1, end + 1 + idBytes);
    at = end + 1 + idBytes;
    if (mode !== "160000") entries.push({ name, id, kind: kinds.get(mode) ?? "file" });
  }
  return entries;
}
