import { Paperclip, X } from "lucide-react";
import { formatBytes } from "../../../ui/format/numbers.ts";

/** Shows the attached files, each with a remove button. */
export function FileChips({ files, onRemove }: { files: readonly File[]; onRemove: (file: File) => void }) {
  if (files.length === 0) return null;
  return (
    <ul aria-label="Attached files" className="flex flex-wrap gap-1.5 px-3 pt-2">
      {files.map((file) => (
        <li
          key={`${file.name} ${file.size} ${file.lastModified}`}
          className="flex h-7 max-w-full items-center gap-1.5 rounded-md bg-raised pl-2 text-xs"
        >
          <Paperclip className="size-3.5 shrink-0 text-muted" aria-hidden />
          <span className="min-w-0 truncate">{file.name}</span>
          <span className="shrink-0 text-muted">{formatBytes(file.size)}</span>
          <button
            type="button"
            aria-label={`Remove ${file.name}`}
            className="grid size-7 place-items-center rounded-md hover:bg-pressed"
            onClick={() => onRemove(file)}
          >
            <X className="size-3.5" aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  );
}
