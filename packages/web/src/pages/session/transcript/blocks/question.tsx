import { CircleQuestionMark, ShieldQuestionMark } from "lucide-react";
import { LongText } from "../text/long-text.tsx";
import { Markdown } from "../text/markdown.tsx";
import { type EventOf, useTranscript } from "../transcript-context.ts";
import { Card } from "./card.tsx";

/** Shows a question from the agent. Users answer the last one in the composer. */
export function Question({ event }: { event: EventOf<"run.blocked"> }) {
  const { run, lastQuestion, isReadOnly } = useTranscript();
  const isWaiting = run.state === "BLOCKED" && lastQuestion === event.seq;
  const isApproval = event.data.publication_ids !== undefined;
  const Icon = isApproval ? ShieldQuestionMark : CircleQuestionMark;
  const title = isApproval
    ? isWaiting
      ? "Waiting for approval"
      : "Approval requested"
    : isWaiting
      ? "Waiting for your answer"
      : "The agent asked";
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label={isApproval ? "Approval" : "Agent question"}
      tone={isWaiting ? "warn" : "plain"}
      icon={<Icon className="size-4 text-warn" aria-hidden />}
      title={<span className="font-medium">{title}</span>}
    >
      <div className="px-4 pb-3">
        <LongText text={event.data.question} seq={event.seq}>
          {(shown) => <Markdown text={shown} />}
        </LongText>
        {isWaiting && !isApproval && !isReadOnly && (
          <p className="mt-2 text-xs text-muted">Type your answer in the box below.</p>
        )}
      </div>
    </Card>
  );
}
