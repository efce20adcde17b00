import { limits } from "@outrider/contract/limits";
import { CircleQuestionMark, ShieldQuestionMark } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useServiceStatus } from "../../../../service-status.ts";
import { Button } from "../../../../ui/button.tsx";
import { ErrorAlert } from "../../../../ui/feedback/error-alert.tsx";
import { PausedNotice } from "../../../../ui/feedback/paused-notice.tsx";
import { Field, TextArea } from "../../../../ui/form/field.tsx";
import { LongText } from "../text/long-text.tsx";
import { Markdown } from "../text/markdown.tsx";
import { type EventOf, useTranscript } from "../transcript-context.ts";
import { Card } from "./card.tsx";

/** Shows a question from the agent. Only the last one can be answered. */
export function Question({ event }: { event: EventOf<"run.blocked"> }) {
  const { run, lastQuestion, isReadOnly, onAnswer } = useTranscript();
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
      <div className="flex flex-col gap-3 px-4 pb-3">
        <div>
          <LongText text={event.data.question}>{(shown) => <Markdown text={shown} />}</LongText>
        </div>
        {isWaiting && !isApproval && !isReadOnly && onAnswer && <Answer onAnswer={onAnswer} />}
      </div>
    </Card>
  );
}

function Answer({ onAnswer }: { onAnswer: (text: string) => Promise<void> }) {
  // The draft is stored outside the form, because scrolling away unmounts the form.
  const { draft } = useTranscript();
  const { acceptsRuns, message } = useServiceStatus();
  const [text, setText] = useState(draft.current);
  draft.current = text;
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = async (event?: FormEvent) => {
    event?.preventDefault();
    if (text.trim() === "" || isBusy || !acceptsRuns) return;
    setBusy(true);
    setError(undefined);
    try {
      await onAnswer(text);
      setText("");
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={send} className="flex flex-col gap-2">
      <Field label="Your answer">
        {(parts) => (
          <TextArea
            {...parts}
            value={text}
            maxLength={limits.prompt}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void send();
            }}
          />
        )}
      </Field>
      {!acceptsRuns && (
        <PausedNotice message={message}>New turns are paused. You can answer later.</PausedNotice>
      )}
      {error !== undefined && acceptsRuns && <ErrorAlert error={error} />}
      <Button type="submit" className="self-end" busy={isBusy} disabled={text.trim() === "" || !acceptsRuns}>
        Send answer
      </Button>
    </form>
  );
}
