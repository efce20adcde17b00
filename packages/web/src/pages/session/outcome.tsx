import type { RunItem } from "@outrider/sdk";
import clsx from "clsx";
import { CircleDashed, CircleQuestionMark, CircleX } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { InlineCode } from "../../ui/text/inline-code.tsx";
import { queueMessage } from "./queue-message.ts";

interface OutcomeProps {
  run: Pick<RunItem, "state" | "status_message" | "queue" | "turns">;
  onRerun?: (() => void) | undefined;
  /** Whether the transcript below shows the question. If so, it is not repeated here. */
  isBesideQuestion?: boolean;
}

/**
 * Shows the most important information first: why the run is queued, what it asks, or why it failed and how to fix
 * that.
 */
export function Outcome({ run, onRerun, isBesideQuestion = false }: OutcomeProps) {
  const { state, status_message: status } = run;
  if (state === "QUEUED") {
    const { title, detail } = queueMessage(run);
    return (
      <Card tone="quiet" Icon={CircleDashed} title={title}>
        <InlineCode text={detail} />
      </Card>
    );
  }
  if (state === "BLOCKED" && status) {
    if (isBesideQuestion) return null;
    return (
      <Card tone="warn" Icon={CircleQuestionMark} title="The agent has a question">
        <span className="whitespace-pre-wrap [unicode-bidi:plaintext]">{status.message}</span>
      </Card>
    );
  }
  if (state !== "FAILED" || !status) return null;
  return (
    <Card
      tone="bad"
      Icon={CircleX}
      title="Run failed"
      action={
        onRerun && (
          <Button small onClick={onRerun}>
            Re-run
          </Button>
        )
      }
    >
      <FailureMessage text={status.message} />
      {status.remedy && <span className="mt-1 block max-sm:hidden">{status.remedy}</span>}
      {status.error_code && (
        <a
          href={`/docs/errors/${status.error_code}`}
          className="mt-1 inline-block text-xs text-muted underline max-sm:hidden"
        >
          Learn more about this error
        </a>
      )}
    </Card>
  );
}

/** On phones, shows two lines of the message. The last block of the transcript contains all of it and the remedy. */
function FailureMessage({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  return (
    <>
      <span
        className={clsx(
          "whitespace-pre-wrap [unicode-bidi:plaintext]",
          isWhole ? "block" : "max-sm:line-clamp-2",
        )}
      >
        <InlineCode text={text} />
      </span>
      {text.length > 90 && (
        <button
          type="button"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
          className="text-xs text-muted underline sm:hidden"
        >
          {isWhole ? "Show less" : "Show more"}
        </button>
      )}
    </>
  );
}

const tones = {
  quiet: { box: "border-line bg-raised", icon: "text-muted" },
  warn: { box: "border-warn/40 bg-warn-soft", icon: "text-warn" },
  bad: { box: "border-bad/40 bg-bad-soft", icon: "text-bad" },
};

interface CardProps {
  tone: keyof typeof tones;
  Icon: typeof CircleX;
  title: string;
  action?: ReactNode;
  children: ReactNode;
}

function Card({ tone, Icon, title, action, children }: CardProps) {
  return (
    <section
      aria-label={title}
      className={clsx(
        "mx-4 mb-2 flex max-w-4xl items-start gap-3 rounded-lg border px-3 py-2 sm:mx-6",
        tones[tone].box,
      )}
    >
      <Icon className={clsx("mt-0.5 size-4 shrink-0", tones[tone].icon)} aria-hidden />
      <div className="max-h-32 min-w-0 flex-1 overflow-y-auto break-words">
        <h2 className="font-medium">{title}</h2>
        {children}
      </div>
      {action}
    </section>
  );
}
