import type { Attachment } from "@outrider/sdk";
import { Paperclip, X } from "lucide-react";
import { useId, useRef } from "react";
import { bytes } from "../../ui/amount.ts";
import { Button, IconButton } from "../../ui/button.tsx";

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
      <legend className="mb-1.5 font-medium">Files for the agent</legend>
      <ul className="flex flex-wrap gap-2 empty:hidden">
        {files.map((file, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same file may stand twice, and rows hold nothing of their own.
          <li key={at} className="flex items-center gap-1 rounded-md bg-raised py-0.5 pr-0.5 pl-2">
            <span className="max-w-60 truncate">{file.name}</span>
            <span className="text-muted">{bytes(file.size)}</span>
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
        {error ?? "At most 5 files of 10 MiB in all. They lie in the workspace when the agent begins."}
      </p>
    </fieldset>
  );
}

export async function asAttachment(file: File): Promise<Attachment> {
  return {
    file_name: file.name,
    mime_type: file.type || "application/octet-stream",
    data: await asBase64(file),
  };
}

function asBase64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(new Error(`${file.name} could not be read. Choose it again.`));
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.readAsDataURL(file);
  });
}
