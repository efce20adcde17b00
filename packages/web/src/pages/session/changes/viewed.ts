import { useCallback, useMemo, useState } from "react";
import { storedSetting } from "../../../frame/stored-setting.ts";
import type { PatchFile } from "../../../ui/diff/patch.ts";

/** The files that the user marked as viewed, by run. Each has a hash of its diff, and is unmarked when that changes. */
type Marks = Record<string, Record<string, number>>;

/** The marks of older runs are dropped. */
const MAX_RUNS = 30;

const setting = storedSetting("viewed-files");

export interface ViewedFiles {
  has: (path: string) => boolean;
  count: number;
  set: (file: PatchFile, isViewed: boolean) => void;
}

/** Keeps which files of a run the user has viewed, in the browser. */
export function useViewedFiles(runId: string, files: readonly PatchFile[]): ViewedFiles {
  const [marks, setMarks] = useState(() => read()[runId] ?? {});
  const viewed = useMemo(
    () =>
      new Set(
        files
          .filter((file) => file.path in marks && marks[file.path] === hashOf(file))
          .map(({ path }) => path),
      ),
    [files, marks],
  );
  const set = useCallback(
    (file: PatchFile, isViewed: boolean) => {
      const { [runId]: before = {}, ...others } = read();
      const { [file.path]: _, ...rest } = before;
      const next = isViewed ? { ...rest, [file.path]: hashOf(file) } : rest;
      const runs = [...Object.entries(others), [runId, next] as const].slice(-MAX_RUNS);
      setting.write(JSON.stringify(Object.fromEntries(runs)));
      setMarks(next);
    },
    [runId],
  );
  return useMemo(() => ({ has: (path) => viewed.has(path), count: viewed.size, set }), [viewed, set]);
}

function read(): Marks {
  try {
    const value: unknown = JSON.parse(setting.read() ?? "{}");
    return typeof value === "object" && value !== null ? (value as Marks) : {};
  } catch {
    return {};
  }
}

/** Computes a 32-bit FNV-1a hash of the file's changed lines. */
function hashOf({ hunks }: PatchFile): number {
  let hash = 0x811c9dc5;
  for (const { lines } of hunks) {
    for (const { kind, text } of lines) {
      if (kind === "same") continue;
      const line = `${kind} ${text}\n`;
      for (let index = 0; index < line.length; index++)
        hash = Math.imul(hash ^ line.charCodeAt(index), 0x01000193);
    }
  }
  return hash >>> 0;
}
