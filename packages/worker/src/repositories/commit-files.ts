import type { CommitFiles, Entry, Found } from "@outrider/agent/skills/commit-files";
import { git } from "./git.ts";

const GIT_MS = 60_000;
/** More in one answer than any caller has use for. */
const ANSWER_BYTES = 64 * 2 ** 20;

interface Options {
  /** A bare repository of ours that has the commit. */
  mirror: string;
  commit: string;
  signal: AbortSignal;
}

interface Header {
  id: string;
  type: string;
  size: number;
}

/** Reads a commit out of a mirror: nothing is checked out, and links are git's to follow, which never leaves the commit. */
export function openCommit({ mirror, commit, signal }: Options): CommitFiles {
  const idBytes = commit.length / 2;

  async function catFile(flag: string, objects: string[]): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    const args = ["--git-dir", mirror, "--no-replace-objects", "cat-file", flag, "--follow-symlinks"];
    const result = await git({
      args,
      signal,
      timeoutMs: GIT_MS,
      stdin: objects.map((object) => `${object}\n`).join(""),
      onOutput(data) {
        size += data.length;
        if (size <= ANSWER_BYTES) chunks.push(data);
      },
    });
    if (!result.ok || size > ANSWER_BYTES) {
      throw new Error(`A mirror cannot be read: ${result.ended ?? result.complaint.slice(0, 500)}`);
    }
    return Buffer.concat(chunks);
  }

  return {
    async look(paths, { maxBytes }) {
      if (paths.length === 0) return [];
      // A line is an object to git, so a name with a line break cannot be asked for; no object has this id.
      const none = "0".repeat(commit.length);
      const asked = paths.map((path) => (/[\n\0]/.test(path) ? none : `${commit}:${path}`));
      const headers = readHeaders(await catFile("--batch-check", asked));
      const wanted = headers.map((header) =>
        typeof header === "object" && (header.type === "tree" || header.size <= maxBytes)
          ? header
          : undefined,
      );
      const ids = [...new Set(wanted.flatMap((header) => header?.id ?? []))];
      const contents =
        ids.length > 0 ? readContents(await catFile("--batch", ids)) : new Map<string, Buffer>();
      return headers.map((header): Found => {
        if (typeof header === "string") return { type: header };
        const data = contents.get(header.id);
        if (header.type === "tree") {
          return { type: "folder", id: header.id, entries: readTree(data as Buffer, idBytes) };
        }
        if (header.type !== "blob") return { type: "missing" };
        return data ? { type: "file", id: header.id, data } : { type: "large", size: header.size };
      });
    },
  };
}

/** What each line of the answer says. What is no object is told in two lines, the second of so many bytes. */
function readHeaders(answer: Buffer): (Header | "missing" | "outside")[] {
  const headers: (Header | "missing" | "outside")[] = [];
  for (let at = 0; at < answer.length; ) {
    const end = answer.indexOf("\n", at);
    const line = answer.toString("utf8", at, end);
    at = end + 1;
    const object = /^([0-9a-f]{40,64}) ([a-z]+) (\d+)$/.exec(line);
    const strange = /^(symlink|dangling|loop|notdir) (\d+)$/.exec(line);
    if (object) headers.push({ id: object[1] as string, type: object[2] as string, size: Number(object[3]) });
    else headers.push(strange?.[1] === "symlink" ? "outside" : "missing");
    if (strange) at += Number(strange[2]) + 1;
  }
  return headers;
}

function readContents(answer: Buffer): Map<string, Buffer> {
  const contents = new Map<string, Buffer>();
  for (let at = 0; at < answer.length; ) {
    const end = answer.indexOf("\n", at);
    const [id = "", , size = "0"] = answer.toString("latin1", at, end).split(" ");
    at = end + 1;
    contents.set(id, answer.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
  return contents;
}

const kinds = new Map<string, Entry["kind"]>([
  ["40000", "folder"],
  ["120000", "link"],
  ["100755", "program"],
]);

/** As git stores a folder: mode, name, and the id in bytes. */
function readTree(data: Buffer, idBytes: number): Entry[] {
  const entries: Entry[] = [];
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
