import { Bot, Paperclip, User } from "lucide-react";
import { bytes } from "../../../ui/amount.ts";
import { CopyButton } from "../../../ui/copy.tsx";
import { visibleLine } from "../../../ui/visible.ts";
import { Card } from "./card.tsx";
import { LongText } from "./long-text.tsx";
import { Markdown } from "./markdown.tsx";
import type { Of } from "./reading.ts";

/** What a person asked for: the prompt, or a follow-up. Their line breaks are meant. */
export function Prompt({ event }: { event: Of<"run.created"> | Of<"message.user"> }) {
  const isFirst = event.type === "run.created";
  const text = isFirst ? event.data.prompt : event.data.text;
  const who = isFirst ? visibleLine(event.data.creator.display_name) : "Follow-up";
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label={isFirst ? "Prompt" : "Follow-up"}
      tone="person"
      icon={<User className="size-4" aria-hidden />}
      title={<span className="block truncate font-medium">{who}</span>}
      figures={<CopyButton text={text} what="message" />}
    >
      <div className="px-4 pb-3">
        <LongText text={text}>
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

function Attachments({ of: files }: { of: Of<"message.user">["data"]["attachments"] }) {
  if (!files?.length) return null;
  return (
    <ul aria-label="Attachments" className="mt-2 flex flex-wrap gap-2">
      {files.map(({ attachment_id, file_name, size_bytes }) => (
        <li
          key={attachment_id}
          className="flex items-center gap-1.5 rounded-md border border-line bg-surface px-2 py-1 text-xs"
        >
          <Paperclip className="size-3.5 text-muted" aria-hidden />
          <bdi className="break-all">{visibleLine(file_name)}</bdi>
          <span className="text-muted">{bytes(size_bytes)}</span>
        </li>
      ))}
    </ul>
  );
}

export function Message({ event }: { event: Of<"message.agent"> }) {
  const { text } = event.data;
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label="Message of the agent"
      icon={<Bot className="size-4" aria-hidden />}
      title={<span className="font-medium">Agent</span>}
      figures={<CopyButton text={text} what="message" />}
    >
      <div className="px-4 pb-3">
        <LongText text={text}>{(shown) => <Markdown text={shown} />}</LongText>
      </div>
    </Card>
  );
}
