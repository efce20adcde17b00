import type { RunEvent } from "@outrider/sdk";
import { memo, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { Skeleton } from "../../../ui/skeleton.tsx";
import type { Blocks } from "../log/blocks.ts";
import type { Bodies } from "../log/bodies.ts";
import { Artifact, Notice, Step } from "./around.tsx";
import { Change } from "./change.tsx";
import { Command } from "./command.tsx";
import { estimate } from "./estimate.ts";
import { Message, Prompt } from "./message.tsx";
import { Plan } from "./plan.tsx";
import { Question } from "./question.tsx";
import type { BlockFacts } from "./reading.ts";
import { Compaction, Reasoning } from "./reasoning.tsx";
import { State } from "./state.tsx";
import { Tool } from "./tool.tsx";

interface BlockProps {
  block: number;
  blocks: Blocks;
  bodies: Bodies;
}

/** One block on the screen. Until its words are here, something of about its height stands in its place. */
export const Block = memo(function Block({ block, blocks, bodies }: BlockProps) {
  const events = useEvents({ block, blocks, bodies });
  const first = blocks.first(block);
  const last = blocks.last(block);
  const isFailed = blocks.isFailed(block);
  const isOpen = blocks.isOpen(block);
  const isLost = blocks.isLost(block);
  const isSaidBefore = blocks.isSaidBefore(block);
  const facts = useMemo(
    () => ({ first, last, isFailed, isOpen, isLost, isSaidBefore }),
    [first, last, isFailed, isOpen, isLost, isSaidBefore],
  );
  if (!events) {
    return (
      <div
        aria-hidden
        style={{ height: estimate(blocks, block) }}
        className="rounded-lg border border-line p-3"
      >
        <Skeleton className="h-4 w-1/3" />
      </div>
    );
  }
  return <Shown events={events} facts={facts} />;
});

const Shown = memo(function Shown({ events, facts }: { events: readonly RunEvent[]; facts: BlockFacts }) {
  const [event] = events;
  switch (event?.type) {
    case "run.created":
    case "message.user":
      return <Prompt event={event} />;
    case "message.agent":
      return <Message event={event} />;
    case "reasoning":
      return <Reasoning event={event} facts={facts} />;
    case "command.started":
    case "command.output":
    case "command.finished":
      return <Command events={events} facts={facts} />;
    case "file.changed":
      return <Change event={event} facts={facts} />;
    case "plan.updated":
      return <Plan event={event} />;
    case "run.blocked":
      return <Question event={event} />;
    case "tool.called":
    case "tool.returned":
      return <Tool events={events} facts={facts} />;
    case "environment.step":
      return <Step events={events} facts={facts} />;
    case "notice":
      return <Notice event={event} />;
    case "artifact.added":
      return <Artifact event={event} />;
    case "compacted":
      return <Compaction event={event} facts={facts} />;
    default:
      return event ? <State event={event} facts={facts} /> : null;
  }
});

/** The block's events, asked for while it is shown. What it had stays until it has all of what is new. */
function useEvents({ block, blocks, bodies }: BlockProps): readonly RunEvent[] | undefined {
  const held = useRef<{ last: number; events: RunEvent[] }>(undefined);
  const isHere = () => held.current?.last === blocks.last(block) || bodies.has(block);
  // One number that changes with the block, so that a change of another one costs nothing here.
  const stamp = useSyncExternalStore(bodies.subscribe, () => blocks.stamp(block) * (isHere() ? 1 : -1));
  const isMissing = stamp < 0;
  if (!isMissing && held.current?.last !== blocks.last(block)) {
    const events = bodies.events(block);
    if (events) held.current = { last: blocks.last(block), events };
  }
  useEffect(() => (isMissing ? bodies.want(block) : undefined), [isMissing, bodies, block]);
  return held.current?.events;
}
