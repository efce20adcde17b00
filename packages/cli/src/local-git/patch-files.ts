/** Reads patches in git's format. Lines of file content never start with `diff --git `. */

export interface PatchFile {
  path: string;
  added: number;
  removed: number;
  isBinary: boolean;
}

/** Splits a patch into the parts of its files. Text before the first file is left out. */
export function splitPatch(patch: string): string[] {
  const [, ...parts] = `\n${patch}`.split(/\n(?=diff --git )/);
  return parts.map((part) => (part.endsWith("\n") ? part : `${part}\n`));
}

/**
 * Returns the part of a patch that belongs to one of several repositories. Their paths in the workspace are the first part of
 * each path in the patch.
 */
export function selectRepository(
  patch: Uint8Array,
  { path, paths }: { path: string; paths: string[] },
): Uint8Array {
  // Files can have any encoding. This one preserves all bytes.
  const encode = (text: string) => Buffer.from(text).toString("latin1");
  const nested = paths.filter((other) => other.startsWith(`${path}/`));
  const isBelow = (part: string, folder: string) =>
    part.startsWith(`diff --git a/${encode(folder)}/`) || part.startsWith(`diff --git "a/${encode(folder)}/`);
  const parts = splitPatch(Buffer.from(patch).toString("latin1")).filter(
    (part) => isBelow(part, path) && !nested.some((folder) => isBelow(part, folder)),
  );
  return Buffer.from(parts.join(""), "latin1");
}

/** Returns the files of a patch with the number of added and removed lines. */
export function listPatchFiles(patch: string): PatchFile[] {
  return splitPatch(patch).map(readPart);
}

function readPart(part: string): PatchFile {
  const lines = part.split("\n");
  const file: PatchFile = { path: headerPath(lines[0] as string), added: 0, removed: 0, isBinary: false };
  // The rest of the current hunk: content can look like a header.
  let oldLines = 0;
  let newLines = 0;
  for (const line of lines.slice(1)) {
    if (oldLines > 0 || newLines > 0) {
      if (line.startsWith("+")) file.added++;
      if (line.startsWith("-")) file.removed++;
      if (!line.startsWith("+") && !line.startsWith("\\")) oldLines--;
      if (!line.startsWith("-") && !line.startsWith("\\")) newLines--;
      continue;
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk) [oldLines, newLines] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
    else if (/^(GIT binary patch$|Binary files )/.test(line)) file.isBinary = true;
    else if (line.startsWith("rename to ")) file.path = unquote(line.slice("rename to ".length));
    else if (/^(---|\+\+\+) "?[ab]\//.test(line))
      file.path = unquote(line.slice(4).replace(/\t$/, "")).slice(2);
  }
  return file;
}

/** `diff --git a/PATH b/PATH` names the same path twice, except for renames, whose path is on a line of its own. */
function headerPath(header: string): string {
  const names = header.slice("diff --git ".length);
  return unquote(names.slice(0, (names.length - 1) / 2)).slice(2);
}

const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v" };

/** Returns a path that git may have quoted as in C. */
function unquote(name: string): string {
  if (!name.startsWith('"')) return name;
  const inner = name.slice(1).replace(/"$/, "");
  return inner.replace(/\\([0-7]{3}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (escapes[code] ?? code),
  );
}
