import { Bot, Paperclip, User } from "lucide-react";
import { formatBytes } from "../../../../ui/format/numbers.ts";
import { CopyButton } from "../../../../ui/text/copy.tsx";
import { sanitizeLine } from "../../../../ui/text/sanitize.ts";
import { LongText } from "../text/long-text.tsx";
import { Markdown } from "../text/markdown.tsx";
import type { EventOf } from "../transcript-context.ts";
import { Card } from "./card.tsx";

/** Shows the prompt or a follow-up and preserves its line breaks. */
export function Prompt({ event }: { event: EventOf<"run.created"> | EventOf<"message.user"> }) {
  const isFirst = event.type === "run.created";
  const text = isFirst ? event.data.prompt : event.data.text;
  const who = isFirst ? sanitizeLine(event.data.creator.display_name) : "Follow-up";
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label={isFirst ? "Prompt" : "Follow-up"}
      tone="user"
      icon={<User className="size-4" aria-hidden />}
      title={<span className="block truncate font-medium">{who}</span>}
      meta={<CopyButton text={text} what="message" />}
    >
      <div className="px-4 pb-3">
        <LongText text={text} seq={event.seq}>
          {(shown) => (
            <p className="break-words whitespace-pre-wrap [overflow-wrap:anywhere] [unicode-bidi:plaintext]">
              {shown}
            </p>
          )}
        </LongText>
        <Attachments of={event.data.attachments} />
      </div>
    </Card>
  );
}

function Attachments({ of: files }: { of: EventOf<"message.user">["data"]["attachments"] }) {
  if (!files?.length) return null;
  return (
    <ul aria-label="Attachments" className="mt-2 flex flex-wrap gap-2">
      {files.map(({ attachment_id, file_name, size_bytes }) => (
        <li
          key={attachment_id}
          className="flex items-center gap-1.5 rounded-md border border-line bg-surface px-2 py-1 text-xs"
        >
          <Paperclip className="size-3.5 text-muted" aria-hidden />
          <bdi className="break-all">{sanitizeLine(file_name)}</bdi>
          <span className="text-muted">{formatBytes(size_bytes)}</span>
        </li>
      ))}
    </ul>
  );
}

export function Message({ event }: { event: EventOf<"message.agent"> }) {
  const { text } = event.data;
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label="Agent message"
      icon={<Bot className="size-4" aria-hidden />}
      title={<span className="font-medium">Agent</span>}
      meta={<CopyButton text={text} what="message" />}
    >
      <div className="px-4 pb-3">
        <LongText text={text} seq={event.seq}>
          {(shown) => <Markdown text={shown} />}
        </LongText>
      </div>
    </Card>
  );
}
