import clsx from "clsx";
import { ChevronRight, CircleCheck, CircleSlash, CircleX, LoaderCircle } from "lucide-react";
import { memo, useEffect, useRef, useState } from "react";
import { Ansi } from "../../ui/ansi.tsx";
import { Duration, durationWords } from "../../ui/time.tsx";
import type { Step } from "./build-log.ts";

interface BuildStepProps {
  step: Step;
  /** Nothing more comes: what never finished was broken off. */
  isOver: boolean;
}

const signs = {
  running: { Sign: LoaderCircle, colour: "text-live", words: "running" },
  finished: { Sign: CircleCheck, colour: "text-good", words: "finished" },
  failed: { Sign: CircleX, colour: "text-bad", words: "failed" },
  broken: { Sign: CircleSlash, colour: "text-muted", words: "broken off" },
};

/** Open while it runs and where it failed; otherwise a line that says how it went. The reader's own choice wins. */
export const BuildStep = memo(function BuildStep({ step, isOver }: BuildStepProps) {
  const { name, state, exitCode, durationMs, startedAt, text, isCut } = step;
  const shown = state === "running" && isOver ? "broken" : state;
  const [chosen, setChosen] = useState<boolean>();
  const isOpen = chosen ?? (shown === "running" || shown === "failed");
  const { Sign, colour, words } = signs[shown];
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
        <Sign
          className={clsx("size-4 shrink-0", colour, shown === "running" && "animate-spin")}
          aria-hidden
        />
        <span className="sr-only">{words}: </span>
        <code className="min-w-0 flex-1 truncate text-xs">{stepName(name)}</code>
        {exitCode !== undefined && exitCode !== 0 && (
          <span className="whitespace-nowrap rounded bg-bad-soft px-1.5 py-0.5 text-xs text-bad">
            exit {exitCode}
          </span>
        )}
        <span className="whitespace-nowrap text-xs text-muted">
          {durationMs !== undefined ? (
            durationWords(durationMs)
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
  return name === "store" ? "Store the result" : name;
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: new text is what makes it scroll.
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <section
      ref={box}
      aria-label={`Output of ${name}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        follows.current = scrollTop + clientHeight > scrollHeight - NEAR_END_PX;
      }}
      className="max-h-96 overflow-auto border-t border-line bg-code px-3 py-2 text-xs leading-5"
    >
      {isCut && <p className="text-muted">Only the end is shown. The API has the whole log.</p>}
      {text ? (
        <Ansi text={text} />
      ) : (
        <p className="text-muted">{isLive ? "No output yet." : "It printed nothing."}</p>
      )}
    </section>
  );
}
