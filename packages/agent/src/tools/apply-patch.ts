import { z } from "zod";
import { Failure, messageOf } from "../failure.ts";
import type { FileChange, Workspace } from "../workspace.ts";
import { expandHome } from "./expand-home.ts";
import { displayPath, normalizePath } from "./list-files-script.ts";
import { applyHunks } from "./patch/apply-hunks.ts";
import { type FilePatch, parsePatch } from "./patch/parse-patch.ts";
import { defineTool, loadDescription } from "./tool.ts";

const MAX_BYTES = 8 * 1024 * 1024;

export const APPLY_PATCH = "apply_patch";

/** A file's content before and after the patch. Undefined means that it does not exist. */
interface FileState {
  path: string;
  before: Buffer | undefined;
  after: Buffer | undefined;
}

export const applyPatch = defineTool({
  name: APPLY_PATCH,
  description: loadDescription(APPLY_PATCH),
  input: z.object({ input: z.string().min(1).meta({ description: "The complete patch." }) }),
  editedPaths: ({ input }) => patchedPaths(input),
  async run({ input }, { workspace, emit }) {
    const notes: string[] = [];
    const files = await planPatch(parsePatch(input), { workspace, notes }).catch((error: unknown) => {
      if (error instanceof Failure) throw error;
      throw new Error(`No file was changed. ${messageOf(error)}`);
    });
    const changes = await writeFiles(files, workspace);
    for (const data of changes) await emit({ type: "file.changed", data });
    const summary = changes.map(({ kind, path }) => `${kind} ${path}`).join(", ");
    return { output: [`Applied the patch: ${summary || "nothing changed"}.`, ...notes].join(" ") };
  },
});

function patchedPaths(patch: string): string[] {
  try {
    return parsePatch(patch).flatMap((file) =>
      file.type === "update" && file.newPath !== undefined ? [file.path, file.newPath] : [file.path],
    );
  } catch {
    return [];
  }
}

/** Computes the content of all files, so that nothing is written unless every hunk matches. */
async function planPatch(
  patches: readonly FilePatch[],
  { workspace, notes }: { workspace: Workspace; notes: string[] },
): Promise<FileState[]> {
  const files = new Map<string, FileState>();
  const open = async (path: string): Promise<FileState> => {
    const key = displayPath(normalizePath(expandHome(path, workspace)));
    const known = files.get(key);
    if (known) return known;
    const before = await readIfExists(key, workspace);
    const file = { path: key, before, after: before };
    files.set(key, file);
    return file;
  };
  for (const patch of patches) {
    const file = await open(patch.path);
    if (patch.type === "add") {
      if (file.after) throw new Error(`${file.path} already exists: use "*** Update File" to change it.`);
      file.after = Buffer.from(patch.text);
      continue;
    }
    if (!file.after) throw new Error(`${file.path} does not exist: use "*** Add File" to create it.`);
    if (patch.type === "delete") {
      file.after = undefined;
      continue;
    }
    const { hunks } = patch;
    const patched = applyHunks(file.after, {
      path: file.path,
      hunks,
      redact: (text) => workspace.redact(text),
    });
    notes.push(...patched.ignored.map((ignored) => `${file.path} was matched ignoring ${ignored}.`));
    const target = patch.newPath === undefined ? file : await open(patch.newPath);
    if (target !== file && target.after)
      throw new Error(`${target.path} already exists: choose another path.`);
    file.after = undefined;
    target.after = patched.data;
  }
  return [...files.values()].filter(({ before, after }) => !isSame(before, after));
}

async function readIfExists(path: string, workspace: Workspace): Promise<Buffer | undefined> {
  const { output } = await workspace.probe('if [ -e "$1" ] || [ -L "$1" ]; then printf yes; fi', {
    args: [normalizePath(path)],
    limit: 10,
    signal: AbortSignal.timeout(60_000),
  });
  if (output.toString() !== "yes") return undefined;
  const data = await workspace.readBytes(path, MAX_BYTES + 1);
  if (data.length > MAX_BYTES)
    throw new Error(`${path} is larger than ${MAX_BYTES} bytes: change it with a command.`);
  return data;
}

function isSame(before: Buffer | undefined, after: Buffer | undefined): boolean {
  return before === after || (before !== undefined && after !== undefined && before.equals(after));
}

/** Writes all files. If one cannot be written, those before it are restored. */
async function writeFiles(files: readonly FileState[], workspace: Workspace): Promise<FileChange[]> {
  const changes: FileChange[] = [];
  const written: FileState[] = [];
  for (const file of files) {
    written.push(file);
    try {
      changes.push(await writeState(file, workspace));
    } catch (error) {
      if (error instanceof Failure) throw error;
      const lost = await restore(written.slice(0, -1), workspace);
      const rest =
        lost.length > 0 ? `Only these files were changed: ${lost.join(", ")}.` : "No file was changed.";
      throw new Error(`${rest} ${messageOf(error)}`);
    }
  }
  return changes;
}

async function writeState({ path, before, after }: FileState, workspace: Workspace): Promise<FileChange> {
  if (!after) return { path, kind: "deleted", ...(await workspace.deleteFile(path)) };
  const { patch } = await workspace.writeBytes(path, after, before ? { before } : {});
  return { path, kind: before ? "modified" : "created", patch };
}

/** Restores the earlier content. Returns the paths of files for which that failed. */
async function restore(files: readonly FileState[], workspace: Workspace): Promise<string[]> {
  const lost: string[] = [];
  for (const { path, before, after } of files) {
    try {
      await writeState({ path, before: after, after: before }, workspace);
    } catch (error) {
      if (error instanceof Failure) throw error;
      lost.push(path);
    }
  }
  return lost;
}
