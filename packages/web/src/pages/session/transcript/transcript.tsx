import type { RunItem } from "@outrider/sdk";
import { useCallback, useMemo, useRef, useState } from "react";
import { setting } from "../../../shell/setting.ts";
import { Problem } from "../../../ui/problem.tsx";
import { SkeletonRows } from "../../../ui/skeleton.tsx";
import type { LogView } from "../log/view.ts";
import { type Filter, placeOf, select } from "./filter.ts";
import { useLinkedEvent } from "./linked-event.ts";
import { List, type ListHandle } from "./list.tsx";
import { PlanAside, PlanBar } from "./plan-panel.tsx";
import { type Reading, ReadingContext, type Target } from "./reading.ts";
import { useSearch } from "./search.ts";
import { useSearchMarks } from "./search-marks.ts";
import { Toolbar } from "./toolbar.tsx";

export interface TranscriptProps {
  log: LogView;
  /** Of a shared run less is known; this is enough. */
  run: Pick<RunItem, "run_id" | "state">;
  /** Sends what was written under the agent's question. A rejection keeps it in the box. */
  onAnswer?: (text: string) => Promise<void>;
  readOnly?: boolean;
}

const wrapping = setting("wrap-lines");
const all: Filter = { name: "all", turn: 0 };

/** The log as a person reads it. It fills its parent, which must have a height, and scrolls within itself. */
export function Transcript({ log, run, onAnswer, readOnly = false }: TranscriptProps) {
  const { blocks, errors } = log;
  const [filter, setFilter] = useState(all);
  const [query, setQuery] = useState("");
  const [hit, setHit] = useState(-1);
  const [target, setTarget] = useState<Target>();
  const [opened, setOpened] = useState<ReadonlyMap<number, boolean>>(new Map());
  const [wraps, setWraps] = useState(wrapping.read() !== "off");
  const list = useRef<ListHandle>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const draft = useRef("");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the blocks are the same object, but a new view means they have changed.
  const selection = useMemo(() => select(blocks, log.count, filter), [log, filter]);
  const search = useSearch(log, query);
  useSearchMarks(scroller, query);

  const goTo = useCallback(
    (seq: number, isLinked: boolean) => {
      const block = blocks.at(seq);
      if (block === undefined) return;
      const first = blocks.first(block);
      setTarget({ seq, first, isLinked });
      setOpened((before) => (before.get(first) === false ? new Map(before).set(first, true) : before));
      // What a filter hides is shown again: who follows a link wants to see where it leads.
      setFilter((filter) => {
        const shown = select(blocks, blocks.count, filter);
        return shown[placeOf(shown, block)] === block ? filter : all;
      });
      // Once the list knows of the other filter.
      requestAnimationFrame(() => list.current?.show(block));
    },
    [blocks],
  );
  const linked = useLinkedEvent(log.status !== "loading", goTo);

  const changeFilter = (next: Filter) => {
    list.current?.hold();
    setFilter(next);
    setTarget(undefined);
  };
  const goToHit = (step: -1 | 1) => {
    const { length } = search.hits;
    if (length === 0) return;
    const next = hit < 0 && step < 0 ? length - 1 : (hit + step + length) % length;
    setHit(next);
    goTo(search.hits[next] as number, false);
  };
  const goToFailure = (step: -1 | 1) => {
    const block = target ? blocks.at(target.seq) : list.current?.top();
    const here = block === undefined ? 0 : blocks.first(block);
    const next = step > 0 ? errors.find((seq) => seq > here) : errors.findLast((seq) => seq < here);
    if (next !== undefined) goTo(next, false);
  };

  const questions = log.milestones.findLast(({ type }) => type === "run.blocked")?.seq;
  const reading = useMemo<Reading>(
    () => ({
      run,
      source: log.source,
      isReadOnly: readOnly,
      onAnswer,
      draft,
      wraps,
      setWraps(next) {
        wrapping.write(next ? undefined : "off");
        setWraps(next);
      },
      opened,
      setOpen: (seq, open) => setOpened((before) => new Map(before).set(seq, open)),
      target,
      lastQuestion: questions,
    }),
    [run, log.source, readOnly, onAnswer, wraps, opened, target, questions],
  );

  if (log.status === "failed" && log.count === 0)
    return (
      <div className="p-4">
        <Problem error={log.error} onRetry={log.wake} />
      </div>
    );
  return (
    <ReadingContext value={reading}>
      <div className="flex h-full min-h-0 flex-col">
        <Toolbar
          filter={filter}
          onFilter={changeFilter}
          turns={log.turns}
          failures={errors.length}
          onFailure={goToFailure}
          query={query}
          onQuery={(next) => {
            setQuery(next);
            setHit(-1);
          }}
          search={search}
          hit={hit}
          onHit={goToHit}
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
                  log.lastSeq > 0 ? `Reading event ${log.lastSeq.toLocaleString()}` : "Loading the transcript"
                }
              />
            </div>
          ) : (
            <List
              log={log}
              filter={filter}
              selection={selection}
              handle={list}
              scroller={scroller}
              opened={opened}
              startsAtEnd={!linked}
            />
          )}
          {log.plan && <PlanAside plan={log.plan} />}
        </div>
      </div>
    </ReadingContext>
  );
}

function Connection({ log: { status, error, wake } }: { log: LogView }) {
  if (status === "failed") return <Problem error={error} onRetry={wake} />;
  return (
    <div role="status">
      {status === "reconnecting" && (
        <p className="bg-warn-soft px-4 py-1.5 text-xs text-warn">
          The connection was lost. What comes meanwhile will be shown when it is back.
        </p>
      )}
    </div>
  );
}
