import { CircleQuestionMark } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useStanding } from "../../../standing.ts";
import { Button } from "../../../ui/button.tsx";
import { Field, TextArea } from "../../../ui/field.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { Stopped } from "../../../ui/stopped.tsx";
import { Card } from "./card.tsx";
import { LongText } from "./long-text.tsx";
import { Markdown } from "./markdown.tsx";
import { type Of, useReading } from "./reading.ts";

/** The agent waits for a person. Only its last question can still be answered. */
export function Question({ event }: { event: Of<"run.blocked"> }) {
  const { run, lastQuestion, isReadOnly, onAnswer } = useReading();
  const isWaiting = run.state === "BLOCKED" && lastQuestion === event.seq;
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label="Question of the agent"
      tone={isWaiting ? "warn" : "plain"}
      icon={<CircleQuestionMark className="size-4 text-warn" aria-hidden />}
      title={
        <span className="font-medium">
          {isWaiting ? "The agent waits for your answer" : "The agent asked"}
        </span>
      }
    >
      <div className="flex flex-col gap-3 px-4 pb-3">
        <div>
          <LongText text={event.data.question}>{(shown) => <Markdown text={shown} />}</LongText>
        </div>
        {isWaiting && !isReadOnly && onAnswer && <Answer onAnswer={onAnswer} />}
      </div>
    </Card>
  );
}

function Answer({ onAnswer }: { onAnswer: (text: string) => Promise<void> }) {
  // What was written outlives a scroll away from here.
  const { draft } = useReading();
  const { takesRuns, message } = useStanding();
  const [text, setText] = useState(draft.current);
  draft.current = text;
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = async (event?: FormEvent) => {
    event?.preventDefault();
    if (text.trim() === "" || isBusy || !takesRuns) return;
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
            maxLength={200_000}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void send();
            }}
          />
        )}
      </Field>
      {!takesRuns && (
        <Stopped message={message}>An answer would begin new work, which is not taken now.</Stopped>
      )}
      {error !== undefined && takesRuns && <Problem error={error} />}
      <Button type="submit" className="self-end" busy={isBusy} disabled={text.trim() === "" || !takesRuns}>
        Send answer
      </Button>
    </form>
  );
}
