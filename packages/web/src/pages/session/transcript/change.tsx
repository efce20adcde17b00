import { FileDiff, FileMinus, FilePlus } from "lucide-react";
import { useMemo, useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { Counts } from "../../../ui/diff/counts.tsx";
import { DiffLines } from "../../../ui/diff/diff-lines.tsx";
import { linesOf, type PatchFile, readPatch } from "../../../ui/diff/patch.ts";
import { visibleLine } from "../../../ui/visible.ts";
import { Card } from "./card.tsx";
import { type BlockFacts, type Of, useOpen } from "./reading.ts";

const SHORT = 40;
/** A longer patch is read up to here; the page of changes has a download of all of it. */
const LONGEST_PATCH = 400_000;

const signs = { created: FilePlus, modified: FileDiff, deleted: FileMinus };

/** One file as one step changed it. Long changes show their beginning. */
export function Change({ event, facts }: { event: Of<"file.changed">; facts: BlockFacts }) {
  const { path, kind, patch } = event.data;
  const [isOpen, toggle] = useOpen(facts, kind !== "deleted");
  const [isWhole, setWhole] = useState(false);
  const file = useMemo((): PatchFile => {
    const [read] = readPatch(patch.slice(0, LONGEST_PATCH));
    return { hunks: [], additions: 0, deletions: 0, ...read, path: visibleLine(path), kind };
  }, [patch, path, kind]);
  const shown = useMemo(() => (isWhole ? file : beginningOf(file)), [file, isWhole]);
  const rest = linesOf(file) - linesOf(shown);
  const Sign = signs[kind];
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label={`File ${kind}: ${file.path}`}
      icon={<Sign className="size-4" aria-hidden />}
      title={
        <bdi className="block truncate font-mono text-xs" title={file.path}>
          {file.path}
        </bdi>
      }
      open={isOpen}
      onToggle={toggle}
      figures={
        <>
          {kind !== "modified" && <span className="text-muted max-sm:hidden">{kind}</span>}
          <Counts additions={file.additions} deletions={file.deletions} />
          <CopyButton text={patch} what="patch" />
        </>
      }
    >
      {isOpen && (
        <div className="border-t border-line">
          <DiffLines file={shown} />
          {(rest > 0 || patch.length > LONGEST_PATCH) && (
            <div className="flex items-center gap-3 border-t border-line px-4 py-2 text-xs text-muted">
              {rest > 0 ? `${rest.toLocaleString()} more lines` : "The Changes tab has the rest of it."}
              {rest > 0 && (
                <Button small onClick={() => setWhole(true)}>
                  Show all
                </Button>
              )}
            </div>
          )}
        </div>
      )}
    </Card>
  );
}

function beginningOf(file: PatchFile): PatchFile {
  let left = SHORT;
  const hunks = file.hunks.map((hunk) => {
    const lines = hunk.lines.slice(0, left);
    left -= lines.length;
    return { ...hunk, lines };
  });
  return { ...file, hunks: hunks.filter(({ lines }) => lines.length > 0) };
}
