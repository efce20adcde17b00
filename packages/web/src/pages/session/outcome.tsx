import type { RunItem } from "@outrider/sdk";
import clsx from "clsx";
import { CircleDashed, CircleQuestionMark, CircleX } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { waitingWords } from "./waiting.ts";

interface OutcomeProps {
  run: Pick<RunItem, "state" | "status_message" | "queue" | "turns">;
  onRerun?: (() => void) | undefined;
  /** The question stands right below, in the transcript: where there is little room, once is enough. */
  isBesideQuestion?: boolean;
}

/** What the reader should know before anything else: why it waits, what it asks, why it failed and what to do. */
export function Outcome({ run, onRerun, isBesideQuestion = false }: OutcomeProps) {
  const { state, status_message: status } = run;
  if (state === "QUEUED") {
    const { title, detail } = waitingWords(run);
    return (
      <Card tone="quiet" Sign={CircleDashed} title={title}>
        {detail}
      </Card>
    );
  }
  if (state === "BLOCKED" && status) {
    return (
      <Card
        tone="warn"
        Sign={CircleQuestionMark}
        title="The agent asks"
        className={clsx(isBesideQuestion && "max-sm:hidden")}
      >
        <span className="whitespace-pre-wrap [unicode-bidi:plaintext]">{status.message}</span>
      </Card>
    );
  }
  if (state !== "FAILED" || !status) return null;
  return (
    <Card
      tone="bad"
      Sign={CircleX}
      title="The run failed"
      action={
        onRerun && (
          <Button small onClick={onRerun}>
            Run again
          </Button>
        )
      }
    >
      <span className="whitespace-pre-wrap [unicode-bidi:plaintext]">{status.message}</span>
      {status.remedy && <span className="mt-1 block">{status.remedy}</span>}
      {status.error_code && (
        <a
          href={`/docs/errors/${status.error_code}`}
          className="mt-1 inline-block font-mono text-xs text-muted underline"
        >
          {status.error_code}
        </a>
      )}
    </Card>
  );
}

const tones = {
  quiet: { box: "border-line bg-raised", sign: "text-muted" },
  warn: { box: "border-warn/40 bg-warn-soft", sign: "text-warn" },
  bad: { box: "border-bad/40 bg-bad-soft", sign: "text-bad" },
};

interface CardProps {
  tone: keyof typeof tones;
  Sign: typeof CircleX;
  title: string;
  action?: ReactNode;
  className?: string;
  children: ReactNode;
}

function Card({ tone, Sign, title, action, className, children }: CardProps) {
  return (
    <section
      aria-label={title}
      className={clsx(
        "mx-4 mb-2 flex max-w-4xl items-start gap-3 rounded-lg border px-3 py-2 sm:mx-6",
        tones[tone].box,
        className,
      )}
    >
      <Sign className={clsx("mt-0.5 size-4 shrink-0", tones[tone].sign)} aria-hidden />
      <div className="max-h-32 min-w-0 flex-1 overflow-y-auto break-words">
        <h2 className="font-medium">{title}</h2>
        {children}
      </div>
      {action}
    </section>
  );
}
