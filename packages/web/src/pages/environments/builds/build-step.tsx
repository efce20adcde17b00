import clsx from "clsx";
import { ChevronRight, CircleCheck, CircleSlash, CircleX, LoaderCircle } from "lucide-react";
import { memo, useEffect, useRef, useState } from "react";
import { formatBytes } from "../../../ui/format/numbers.ts";
import { Duration, formatDuration } from "../../../ui/format/time.tsx";
import { Ansi } from "../../../ui/text/ansi.tsx";
import type { Step } from "./build-log.ts";

interface BuildStepProps {
  step: Step;
  /** Whether the log is complete. If so, an unfinished step was interrupted. */
  isOver: boolean;
}

const outcomes = {
  running: { Icon: LoaderCircle, color: "text-live", label: "running" },
  finished: { Icon: CircleCheck, color: "text-good", label: "finished" },
  failed: { Icon: CircleX, color: "text-bad", label: "failed" },
  broken: { Icon: CircleSlash, color: "text-muted", label: "interrupted" },
};

/** Shows a build step. It is expanded while it is running or if it failed, unless the user chose otherwise. */
export const BuildStep = memo(function BuildStep({ step, isOver }: BuildStepProps) {
  const { name, state, exitCode, durationMs, sizeBytes, startedAt, text, isCut } = step;
  const shown = state === "running" && isOver ? "broken" : state;
  const [chosen, setChosen] = useState<boolean>();
  const isOpen = chosen ?? (shown === "running" || shown === "failed");
  const { Icon, color, label } = outcomes[shown];
  return (
    <li className="border-b border-line last:border-b-0">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setChosen(!isOpen)}
        className="flex min-h-10 w-full items-center gap-2 px-3 py-2 text-left hover:bg-raised"
      >
        <ChevronRight
          className={clsx("size-4 shrink-0 text-muted transition-transform", isOpen && "rotate-90")}
          aria-hidden
        />
        <Icon className={clsx("size-4 shrink-0", color, shown === "running" && "animate-spin")} aria-hidden />
        <span className="sr-only">{label}: </span>
        <code className="min-w-0 flex-1 truncate text-xs">{stepName(name)}</code>
        {exitCode !== undefined && exitCode !== 0 && (
          <span className="whitespace-nowrap rounded bg-bad-soft px-1.5 py-0.5 text-xs text-bad">
            exit {exitCode}
          </span>
        )}
        <span className="whitespace-nowrap text-xs text-muted">
          {sizeBytes !== undefined && `${formatBytes(sizeBytes)} · `}
          {durationMs !== undefined ? (
            formatDuration(durationMs)
          ) : shown === "running" ? (
            <Duration from={startedAt} />
          ) : null}
        </span>
      </button>
      {isOpen && <Output text={text} isCut={isCut} isLive={shown === "running"} name={name} />}
    </li>
  );
});

function stepName(name: string): string {
  if (name === "store") return "Save result";
  return name.replace(/^(pull|check out) /, (verb) => `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`);
}

const NEAR_END_PX = 24;

function Output({
  text,
  isCut,
  isLive,
  name,
}: {
  text: string;
  isCut: boolean;
  isLive: boolean;
  name: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new text triggers scrolling.
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <section
      ref={box}
      aria-label={`Output of ${name}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        follows.current = scrollTop + clientHeight > scrollHeight - NEAR_END_PX;
      }}
      className="max-h-96 overflow-auto border-t border-line bg-code px-3 py-2 text-xs leading-5"
    >
      {isCut && (
        <p className="text-muted">
          Showing the end of the output. The full log is available through the API.
        </p>
      )}
      {text ? <Ansi text={text} /> : <p className="text-muted">{isLive ? "No output yet." : "No output"}</p>}
    </section>
  );
}
