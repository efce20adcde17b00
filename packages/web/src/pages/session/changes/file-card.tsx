import { ChevronDown, ChevronRight } from "lucide-react";
import { Counts } from "../../../ui/diff/counts.tsx";
import { DiffLines } from "../../../ui/diff/diff-lines.tsx";
import type { PatchFile } from "../../../ui/diff/patch.ts";
import { CopyButton } from "../../../ui/text/copy.tsx";
import { sanitize } from "../../../ui/text/sanitize.ts";

const kindLabels = { created: "new", modified: undefined, deleted: "deleted", renamed: "renamed" };

interface FileCardProps {
  file: PatchFile;
  id: string;
  isOpen: boolean;
  onToggle: () => void;
}

export function FileCard({ file, id, isOpen, onToggle }: FileCardProps) {
  const Icon = isOpen ? ChevronDown : ChevronRight;
  const label = kindLabels[file.kind];
  return (
    <article id={id} className="scroll-mt-2 overflow-hidden rounded-lg border border-line bg-surface">
      <header className="flex items-center gap-2 bg-raised pr-2">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={onToggle}
          className="flex min-h-10 min-w-0 flex-1 items-center gap-2 px-3 text-left -outline-offset-2"
        >
          <Icon className="size-4 shrink-0 text-muted" aria-hidden />
          <span className="min-w-0 break-all font-mono text-xs">
            {file.from && <span className="text-muted">{sanitize(file.from)} → </span>}
            {sanitize(file.path)}
          </span>
          {label && <span className="shrink-0 rounded bg-surface px-1.5 text-xs text-muted">{label}</span>}
        </button>
        <Counts {...file} />
        <CopyButton text={file.path} what={`path ${file.path}`} />
      </header>
      {isOpen && <DiffLines file={file} />}
    </article>
  );
}
