import { ChevronDown, ChevronRight } from "lucide-react";
import { CopyButton } from "../../../ui/copy.tsx";
import { Counts } from "../../../ui/diff/counts.tsx";
import { DiffLines } from "../../../ui/diff/diff-lines.tsx";
import type { PatchFile } from "../../../ui/diff/patch.ts";
import { visible } from "../../../ui/visible.ts";

const kindWords = { created: "new", modified: undefined, deleted: "deleted", renamed: "moved" };

interface FileCardProps {
  file: PatchFile;
  id: string;
  isOpen: boolean;
  onToggle: () => void;
}

export function FileCard({ file, id, isOpen, onToggle }: FileCardProps) {
  const Sign = isOpen ? ChevronDown : ChevronRight;
  const words = kindWords[file.kind];
  return (
    <article id={id} className="scroll-mt-2 overflow-hidden rounded-lg border border-line bg-surface">
      <header className="flex items-center gap-2 bg-raised pr-2">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={onToggle}
          className="flex min-h-10 min-w-0 flex-1 items-center gap-2 px-3 text-left -outline-offset-2"
        >
          <Sign className="size-4 shrink-0 text-muted" aria-hidden />
          <span className="min-w-0 break-all font-mono text-xs">
            {file.from && <span className="text-muted">{visible(file.from)} → </span>}
            {visible(file.path)}
          </span>
          {words && <span className="shrink-0 rounded bg-surface px-1.5 text-xs text-muted">{words}</span>}
        </button>
        <Counts {...file} />
        <CopyButton text={file.path} what={`path ${file.path}`} />
      </header>
      {isOpen && <DiffLines file={file} />}
    </article>
  );
}
