import { limits } from "@outrider/contract/limits";
import { Paperclip, X } from "lucide-react";
import { useId, useRef } from "react";
import { Button, IconButton } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/format/numbers.ts";

interface AttachmentsProps {
  files: readonly File[];
  error: string | undefined;
  onChange: (files: readonly File[]) => void;
}

export function Attachments({ files, error, onChange }: AttachmentsProps) {
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1.5 font-medium">Attachments</legend>
      <ul className="flex flex-wrap gap-2 empty:hidden">
        {files.map((file, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same file can be attached twice, and rows have no state.
          <li key={at} className="flex items-center gap-1 rounded-md bg-raised py-0.5 pr-0.5 pl-2">
            <span className="max-w-60 truncate">{file.name}</span>
            <span className="text-muted">{formatBytes(file.size)}</span>
            <IconButton
              label={`Remove ${file.name}`}
              small
              icon={<X className="size-4" aria-hidden />}
              onClick={() => onChange(files.filter((each) => each !== file))}
            />
          </li>
        ))}
      </ul>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={({ target }) => {
          onChange([...files, ...(target.files ?? [])]);
          target.value = "";
        }}
      />
      <div>
        <Button
          icon={<Paperclip className="size-4" aria-hidden />}
          aria-describedby={id}
          aria-invalid={error ? true : undefined}
          onClick={() => input.current?.click()}
        >
          Attach files
        </Button>
      </div>
      <p id={id} className={error ? "text-xs text-bad" : "text-xs text-muted"}>
        {error ??
          `Up to ${limits.attachments.count} files, ${formatBytes(limits.attachments.total)} in total. Copied to the workspace before the agent starts.`}
      </p>
    </fieldset>
  );
}
