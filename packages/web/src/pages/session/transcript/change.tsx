import { FileDiff, FileMinus, FilePlus, WrapText } from "lucide-react";
import { useMemo, useState } from "react";
import { Button, IconButton } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { Card } from "./card.tsx";
import { Diff } from "./diff.tsx";
import { harmlessLine } from "./harmless.ts";
import { readPatch } from "./patch.ts";
import { type BlockFacts, type Of, useOpen, useReading } from "./reading.ts";

const SHORT = 40;
const LONG = 2_000;

const signs = { created: FilePlus, modified: FileDiff, deleted: FileMinus };

/** One file as one step changed it. Long changes show their beginning. */
export function Change({ event, facts }: { event: Of<"file.changed">; facts: BlockFacts }) {
  const { path, kind, patch } = event.data;
  const { wraps, setWraps } = useReading();
  const { lines, added, removed } = useMemo(() => readPatch(patch), [patch]);
  const [isOpen, toggle] = useOpen(facts, kind !== "deleted");
  const [isWhole, setWhole] = useState(false);
  const shown = useMemo(() => lines.slice(0, isWhole ? LONG : SHORT), [lines, isWhole]);
  const rest = lines.length - shown.length;
  const Sign = signs[kind];
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label={`File ${kind}: ${path}`}
      icon={<Sign className="size-4" aria-hidden />}
      title={
        <bdi className="block truncate font-mono text-xs" title={harmlessLine(path)}>
          {harmlessLine(path)}
        </bdi>
      }
      open={isOpen}
      onToggle={toggle}
      figures={
        <>
          {kind !== "modified" && <span className="text-muted max-sm:hidden">{kind}</span>}
          {added > 0 && <span className="font-mono text-good">+{added}</span>}
          {removed > 0 && <span className="font-mono text-bad">−{removed}</span>}
          {isOpen && (
            <IconButton
              small
              label={wraps ? "Do not wrap lines" : "Wrap lines"}
              aria-pressed={wraps}
              icon={<WrapText className="size-4" aria-hidden />}
              onClick={() => setWraps(!wraps)}
            />
          )}
          <CopyButton text={patch} what="patch" />
        </>
      }
    >
      {isOpen && (
        <div className="border-t border-line">
          {lines.length > 0 ? (
            <Diff path={path} lines={shown} wraps={wraps} />
          ) : (
            <p className="px-4 py-2 text-xs text-muted">Its content is not text, or only its mode changed.</p>
          )}
          {rest > 0 && (
            <div className="flex items-center gap-3 border-t border-line px-4 py-2 text-xs text-muted">
              {rest.toLocaleString()} more lines
              {isWhole ? (
                <span>The Changes tab has all of them.</span>
              ) : (
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
