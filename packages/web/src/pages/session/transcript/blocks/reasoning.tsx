import { Brain, Scissors } from "lucide-react";
import type { ReactNode } from "react";
import { sanitizeLine } from "../../../../ui/text/sanitize.ts";
import { LongText } from "../text/long-text.tsx";
import { Markdown } from "../text/markdown.tsx";
import { type BlockInfo, type EventOf, useOpen } from "../transcript-context.ts";
import { Card } from "./card.tsx";

interface AsideProps {
  event: EventOf<"reasoning"> | EventOf<"compacted">;
  info: BlockInfo;
  label: string;
  icon: ReactNode;
  text: string;
}

/** Shows text that few users need, collapsed to its first line. */
function Aside({ event, info, label, icon, text }: AsideProps) {
  const [isOpen, toggle] = useOpen(info, false);
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label={label}
      icon={icon}
      title={
        <span className="block truncate text-muted">
          {label}
          {!isOpen && <bdi> · {sanitizeLine(text.slice(0, 300))}</bdi>}
        </span>
      }
      open={isOpen}
      onToggle={toggle}
    >
      {isOpen && (
        <div className="border-t border-line px-4 py-3 text-muted">
          <LongText text={text} seq={event.seq}>
            {(shown) => <Markdown text={shown} />}
          </LongText>
        </div>
      )}
    </Card>
  );
}

export function Reasoning({ event, info }: { event: EventOf<"reasoning">; info: BlockInfo }) {
  const icon = <Brain className="size-4" aria-hidden />;
  return <Aside event={event} info={info} label="Reasoning" icon={icon} text={event.data.text} />;
}

export function Compaction({ event, info }: { event: EventOf<"compacted">; info: BlockInfo }) {
  const text = event.data.summary || "Older output was removed from the conversation.";
  const icon = <Scissors className="size-4" aria-hidden />;
  return <Aside event={event} info={info} label="Conversation compacted" icon={icon} text={text} />;
}
