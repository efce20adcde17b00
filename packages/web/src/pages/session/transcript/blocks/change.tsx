import { FileDiff, FileMinus, FilePlus } from "lucide-react";
import { useMemo, useState } from "react";
import { Button } from "../../../../ui/button.tsx";
import { Counts } from "../../../../ui/diff/counts.tsx";
import { DiffLines } from "../../../../ui/diff/diff-lines.tsx";
import { linesOf, type PatchFile, readPatch } from "../../../../ui/diff/patch.ts";
import { CopyButton } from "../../../../ui/text/copy.tsx";
import { sanitizeLine } from "../../../../ui/text/sanitize.ts";
import { type BlockInfo, type EventOf, useMatch, useOpen } from "../transcript-context.ts";
import { Card } from "./card.tsx";

const SHORT = 40;
/** Longer patches are truncated here, because the Changes tab shows the full patch. */
const MAX_PATCH = 400_000;

const icons = { created: FilePlus, modified: FileDiff, deleted: FileMinus };

/** Shows the change to one file. Deletions are collapsed, and long patches are shown in part. */
export function Change({ event, info }: { event: EventOf<"file.changed">; info: BlockInfo }) {
  const { path, kind, patch } = event.data;
  const [isOpen, toggle] = useOpen(info, kind !== "deleted");
  const [isExpanded, setWhole] = useState(false);
  const isWhole = useMatch(event.seq) !== undefined || isExpanded;
  const file = useMemo((): PatchFile => {
    const [read] = readPatch(patch.slice(0, MAX_PATCH));
    return { hunks: [], additions: 0, deletions: 0, ...read, path: sanitizeLine(path), kind };
  }, [patch, path, kind]);
  const shown = useMemo(() => (isWhole ? file : beginningOf(file)), [file, isWhole]);
  const rest = linesOf(file) - linesOf(shown);
  const Icon = icons[kind];
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label={`File ${kind}: ${file.path}`}
      icon={<Icon className="size-4" aria-hidden />}
      title={
        <bdi className="block truncate font-mono text-xs" title={file.path}>
          {file.path}
        </bdi>
      }
      open={isOpen}
      onToggle={toggle}
      meta={
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
          {(rest > 0 || patch.length > MAX_PATCH) && (
            <div className="flex items-center gap-3 border-t border-line px-4 py-2 text-xs text-muted">
              {rest > 0 ? `${rest.toLocaleString()} more lines` : "See the Changes tab for the rest."}
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
