import { Brain, Scissors } from "lucide-react";
import type { ReactNode } from "react";
import { visibleLine } from "../../../ui/visible.ts";
import { Card } from "./card.tsx";
import { LongText } from "./long-text.tsx";
import { Markdown } from "./markdown.tsx";
import { type BlockFacts, type Of, useOpen } from "./reading.ts";

interface AsideProps {
  event: Of<"reasoning"> | Of<"compacted">;
  facts: BlockFacts;
  label: string;
  icon: ReactNode;
  text: string;
}

/** Words that few readers want: their beginning, until somebody does. */
function Aside({ event, facts, label, icon, text }: AsideProps) {
  const [isOpen, toggle] = useOpen(facts, false);
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label={label}
      icon={icon}
      title={
        <span className="block truncate text-muted">
          {label}
          {!isOpen && <bdi> · {visibleLine(text.slice(0, 300))}</bdi>}
        </span>
      }
      open={isOpen}
      onToggle={toggle}
    >
      {isOpen && (
        <div className="border-t border-line px-4 py-3 text-muted">
          <LongText text={text}>{(shown) => <Markdown text={shown} />}</LongText>
        </div>
      )}
    </Card>
  );
}

export function Reasoning({ event, facts }: { event: Of<"reasoning">; facts: BlockFacts }) {
  const icon = <Brain className="size-4" aria-hidden />;
  return <Aside event={event} facts={facts} label="Reasoning" icon={icon} text={event.data.text} />;
}

export function Compaction({ event, facts }: { event: Of<"compacted">; facts: BlockFacts }) {
  const text = event.data.summary || "Old outputs were left out of the conversation.";
  const icon = <Scissors className="size-4" aria-hidden />;
  return <Aside event={event} facts={facts} label="Conversation shortened" icon={icon} text={text} />;
}
