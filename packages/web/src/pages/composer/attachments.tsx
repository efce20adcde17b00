import { limits } from "@outrider/contract/limits";
import { Paperclip, X } from "lucide-react";
import { useRef } from "react";
import { IconButton } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/format/numbers.ts";

interface AttachedFilesProps {
  files: readonly File[];
  error: string | undefined;
  onChange: (files: readonly File[]) => void;
}

/** Shows the attached files below the prompt, each with a remove button. */
export function AttachedFiles({ files, error, onChange }: AttachedFilesProps) {
  return (
    <>
      {files.length > 0 && (
        <ul aria-label="Attached files" className="flex flex-wrap gap-1.5 px-3 pb-2.5">
          {files.map((file, at) => (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: the same file can be attached twice, and rows have no state.
              key={at}
              className="flex h-7 max-w-full items-center gap-1.5 rounded-md bg-raised pl-2 text-xs"
            >
              <Paperclip className="size-3.5 shrink-0 text-muted" aria-hidden />
              <span className="min-w-0 truncate">{file.name || "Pasted file"}</span>
              <span className="shrink-0 text-muted">{formatBytes(file.size)}</span>
              <IconButton
                label={`Remove ${file.name || "pasted file"}`}
                small
                icon={<X className="size-3.5" aria-hidden />}
                onClick={() => onChange(files.filter((each) => each !== file))}
              />
            </li>
          ))}
        </ul>
      )}
      {error && (
        <p role="alert" className="px-4 pb-2.5 text-xs text-bad">
          {error}
        </p>
      )}
    </>
  );
}

export function AttachButton({ onFiles }: { onFiles: (files: Iterable<File>) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const hint = `Attach files: up to ${limits.attachments.count}, ${formatBytes(limits.attachments.total)} in total. You can also paste or drop them.`;
  return (
    <>
      <IconButton
        label="Attach files"
        title={hint}
        icon={<Paperclip className="size-4" aria-hidden />}
        onClick={() => input.current?.click()}
      />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          // Clearing the value allows the user to select the same file again after removing it.
          target.value = "";
        }}
      />
    </>
  );
}
