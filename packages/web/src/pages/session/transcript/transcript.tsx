import type { RunEvent, RunItem } from "@outrider/sdk";
import { useCallback, useMemo, useRef, useState } from "react";
import { storedSetting } from "../../../frame/stored-setting.ts";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import type { LogView } from "../log/log-view.ts";
import { BlockList, type BlockListHandle } from "./block-list.tsx";
import { type Filter, positionOf, select } from "./filter.ts";
import { useLinkedEvent } from "./linked-event.ts";
import { PlanAside, PlanBar } from "./plan-panel.tsx";
import { useScrollToMatch } from "./scroll-to-match.ts";
import { type Match, useSearch } from "./search.ts";
import { useSearchMarks } from "./search-marks.ts";
import { Toolbar } from "./toolbar.tsx";
import { type Target, TranscriptContext, type TranscriptState } from "./transcript-context.ts";

export interface TranscriptProps {
  log: LogView;
  /** Only these fields are required, because a shared run exposes fewer of them. */
  run: Pick<RunItem, "run_id" | "state">;
  readOnly?: boolean;
}

const wrapping = storedSetting("wrap-lines");
const all: Filter = { name: "all", turn: 0 };

/** Shows the run's transcript. It fills its parent, which must have a height, and has its own scrollbar. */
export function Transcript({ log, run, readOnly = false }: TranscriptProps) {
  const { blocks, errors } = log;
  const [filter, setFilter] = useState(all);
  const [query, setQuery] = useState("");
  const [match, setMatch] = useState(-1);
  const [target, setTarget] = useState<Target>();
  const [areAllOpen, setAllOpen] = useState<boolean>();
  const [opened, setOpened] = useState<ReadonlyMap<number, boolean>>(new Map());
  const [wraps, setWraps] = useState(wrapping.read() !== "off");
  const list = useRef<BlockListHandle>(null);
  const scroller = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the blocks are a mutable object, so a new log view means that they changed.
  const selection = useMemo(() => select(blocks, log.count, filter), [log, filter]);
  const search = useSearch(log, query);
  useSearchMarks(scroller, query);

  const goTo = useCallback(
    (seq: number, isLinked: boolean, match?: Target["match"]) => {
      const block = blocks.at(seq);
      if (block === undefined) return;
      const first = blocks.first(block);
      setTarget({ seq, first, isLinked, ...(match && { match }) });
      setOpened((before) => (before.get(first) === false ? new Map(before).set(first, true) : before));
      // The filter is reset if it hides the target.
      setFilter((filter) => {
        const shown = select(blocks, blocks.count, filter);
        return shown[positionOf(shown, block)] === block ? filter : all;
      });
      // The list must receive the new filter before it can scroll.
      requestAnimationFrame(() => list.current?.show(block, { staysIfRendered: match !== undefined }));
    },
    [blocks],
  );
  useScrollToMatch(scroller, list, target);
  const linked = useLinkedEvent(log.status !== "loading", goTo);

  const changeFilter = (next: Filter) => {
    list.current?.keepPosition();
    setFilter(next);
    setTarget(undefined);
  };
  const goToMatch = (step: -1 | 1) => {
    const { length } = search.matches;
    if (length === 0) return;
    const next = match < 0 && step < 0 ? length - 1 : (match + step + length) % length;
    setMatch(next);
    const { seq, nth } = search.matches[next] as Match;
    goTo(seq, false, { needle: query.trim().toLowerCase(), nth });
  };
  const goToFailure = (step: -1 | 1) => {
    const block = target ? blocks.at(target.seq) : list.current?.top();
    const here = block === undefined ? 0 : blocks.first(block);
    const next = step > 0 ? errors.find((seq) => seq > here) : errors.findLast((seq) => seq < here);
    if (next !== undefined) goTo(next, false);
  };

  const turnStarts = useMemo(() => turnStartsOf(log.milestones), [log.milestones]);
  const questions = log.milestones.findLast(({ type }) => type === "run.blocked")?.seq;
  const state = useMemo<TranscriptState>(
    () => ({
      run,
      source: log.source,
      isReadOnly: readOnly,
      wraps,
      setWraps(next) {
        wrapping.write(next ? undefined : "off");
        setWraps(next);
      },
      opened,
      setOpen: (seq, open) => setOpened((before) => new Map(before).set(seq, open)),
      areAllOpen,
      turnStarts,
      target,
      lastQuestion: questions,
    }),
    [run, log.source, readOnly, wraps, opened, areAllOpen, turnStarts, target, questions],
  );

  if (log.status === "failed" && log.count === 0)
    return (
      <div className="p-4">
        <ErrorAlert error={log.error} onRetry={log.wake} />
      </div>
    );
  return (
    <TranscriptContext value={state}>
      <div className="flex h-full min-h-0 flex-col">
        <Toolbar
          filter={filter}
          onFilter={changeFilter}
          turns={log.turns}
          failures={errors.length}
          onFailure={goToFailure}
          areAllOpen={areAllOpen}
          onToggleAll={() => {
            list.current?.keepPosition();
            setOpened(new Map());
            setTarget(undefined);
            setAllOpen(!areAllOpen);
          }}
          onBlock={(step) => list.current?.focus(step)}
          query={query}
          onQuery={(next) => {
            setQuery(next);
            setMatch(-1);
          }}
          search={search}
          match={match}
          onMatch={goToMatch}
          lastSeq={log.lastSeq}
        />
        {log.plan && <PlanBar plan={log.plan} />}
        <Connection log={log} />
        <div className="flex min-h-0 flex-1">
          {log.status === "loading" ? (
            <div className="mx-auto w-full max-w-4xl px-4">
              <SkeletonRows
                rows={8}
                label={
                  log.lastSeq > 0 ? `Loading event ${log.lastSeq.toLocaleString()}` : "Loading transcript"
                }
              />
            </div>
          ) : (
            <BlockList
              log={log}
              filter={filter}
              selection={selection}
              handle={list}
              scroller={scroller}
              opened={opened}
              areAllOpen={areAllOpen}
              startsAtEnd={!linked}
            />
          )}
          {log.plan && <PlanAside plan={log.plan} />}
        </div>
      </div>
    </TranscriptContext>
  );
}

/** Returns the times of the first claim of each turn. */
function turnStartsOf(milestones: readonly RunEvent[]): number[] {
  return milestones
    .filter(({ type, attempt }) => type === "run.claimed" && attempt === 1)
    .map(({ created_at }) => Date.parse(created_at));
}

function Connection({ log: { status, error, wake } }: { log: LogView }) {
  if (status === "failed") return <ErrorAlert error={error} onRetry={wake} />;
  return (
    <div role="status">
      {status === "reconnecting" && (
        <p className="bg-warn-soft px-4 py-1.5 text-xs text-warn">Connection lost. Reconnecting…</p>
      )}
    </div>
  );
}
