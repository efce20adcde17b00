import type { RunEvent } from "@outrider/sdk";
import { memo, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { Skeleton } from "../../../../ui/feedback/skeleton.tsx";
import type { Blocks } from "../../log/blocks.ts";
import type { EventCache } from "../../log/event-cache.ts";
import { estimateHeight } from "../estimate-height.ts";
import type { BlockInfo } from "../transcript-context.ts";
import { Change } from "./change.tsx";
import { Command } from "./command.tsx";
import { Message, Prompt } from "./message.tsx";
import { Plan } from "./plan.tsx";
import { BranchPushed, PullRequestChanged } from "./publishing-events.tsx";
import { Question } from "./question.tsx";
import { Compaction, Reasoning } from "./reasoning.tsx";
import { Artifact, Notice, Step } from "./small-events.tsx";
import { StateChange } from "./state-change.tsx";
import { Tool } from "./tool.tsx";

interface BlockProps {
  block: number;
  blocks: Blocks;
  cache: EventCache;
}

/** Shows one block, or a placeholder of the estimated height until the block's events are loaded. */
export const Block = memo(function Block({ block, blocks, cache }: BlockProps) {
  const events = useEvents({ block, blocks, cache });
  const first = blocks.first(block);
  const last = blocks.last(block);
  const isFailed = blocks.isFailed(block);
  const isOpen = blocks.isOpen(block);
  const isInterrupted = blocks.isInterrupted(block);
  const repeatsLastMessage = blocks.repeatsLastMessage(block);
  const info = useMemo(
    () => ({ first, last, isFailed, isOpen, isInterrupted, repeatsLastMessage }),
    [first, last, isFailed, isOpen, isInterrupted, repeatsLastMessage],
  );
  if (!events) {
    return (
      <div
        aria-hidden
        style={{ height: estimateHeight(blocks, block) }}
        className="rounded-lg border border-line p-3"
      >
        <Skeleton className="h-4 w-1/3" />
      </div>
    );
  }
  return <BlockContent events={events} info={info} />;
});

const BlockContent = memo(function BlockContent({
  events,
  info,
}: {
  events: readonly RunEvent[];
  info: BlockInfo;
}) {
  const [event] = events;
  switch (event?.type) {
    case "run.created":
    case "message.user":
      return <Prompt event={event} />;
    case "message.agent":
      return <Message event={event} />;
    case "reasoning":
      return <Reasoning event={event} info={info} />;
    case "command.started":
    case "command.output":
    case "command.finished":
      return <Command events={events} info={info} />;
    case "file.changed":
      return <Change event={event} info={info} />;
    case "plan.updated":
      return <Plan event={event} />;
    case "run.blocked":
      return <Question event={event} />;
    case "tool.called":
    case "tool.returned":
      return <Tool events={events} info={info} />;
    case "environment.step":
      return <Step events={events} info={info} />;
    case "notice":
      return <Notice event={event} />;
    case "artifact.added":
      return <Artifact event={event} />;
    case "branch.pushed":
      return <BranchPushed event={event} />;
    case "pull_request.opened":
    case "pull_request.updated":
      return <PullRequestChanged event={event} />;
    case "compacted":
      return <Compaction event={event} info={info} />;
    default:
      return event ? <StateChange event={event} info={info} /> : null;
  }
});

/** Loads the block's events while it is on screen. The old events remain visible until all new ones are loaded. */
function useEvents({ block, blocks, cache }: BlockProps): readonly RunEvent[] | undefined {
  const lastComplete = useRef<{ last: number; events: RunEvent[] }>(undefined);
  const isLoaded = () => lastComplete.current?.last === blocks.last(block) || cache.has(block);
  // This number changes only with this block, so changes to other blocks do not re-render it.
  const stamp = useSyncExternalStore(cache.subscribe, () => blocks.stamp(block) * (isLoaded() ? 1 : -1));
  const isMissing = stamp < 0;
  if (!isMissing && lastComplete.current?.last !== blocks.last(block)) {
    const events = cache.events(block);
    if (events) lastComplete.current = { last: blocks.last(block), events };
  }
  useEffect(() => (isMissing ? cache.request(block) : undefined), [isMissing, cache, block]);
  return lastComplete.current?.events;
}
