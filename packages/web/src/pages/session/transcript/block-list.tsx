import { measureElement, useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import {
  type RefObject,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Button } from "../../../ui/button.tsx";
import { formatCount } from "../../../ui/format/numbers.ts";
import type { LogView } from "../log/log-view.ts";
import { Block } from "./blocks/block.tsx";
import { StreamingMessage } from "./blocks/streaming-message.tsx";
import { estimateHeight } from "./estimate-height.ts";
import { type Filter, positionOf } from "./filter.ts";

/** The streaming message's key, which sorts after all blocks. */
const STREAMING = 0xffffffff;
const NEAR_END = 48;

export interface BlockListHandle {
  /** Scrolls to a block, or to the next visible one if a filter hides it. A rendered block can stay where it is. */
  show(block: number, options?: { staysIfRendered: boolean }): void;
  /**
   * Keeps the current block in place during a filter change, unless the list is following the end. Call this before
   * changing the filter, or before expanding or collapsing all blocks.
   */
  keepPosition(): void;
  /** Moves the keyboard focus to the next or previous block. */
  focus(step: -1 | 1): void;
  /** Scrolls to a match that is already rendered. */
  scrollBy(distance: number): void;
  /** Returns the block at the top of the viewport. */
  top(): number | undefined;
}

interface BlockListProps {
  log: LogView;
  filter: Filter;
  selection: Uint32Array;
  handle: RefObject<BlockListHandle | null>;
  scroller: RefObject<HTMLDivElement | null>;
  /** The blocks that the user opened or closed. Opening a block stops the list from following the end. */
  opened: ReadonlyMap<number, boolean>;
  areAllOpen: boolean | undefined;
  startsAtEnd: boolean;
}

/** Shows the virtualized list of blocks. It follows new events until the user scrolls up. */
export function BlockList(props: BlockListProps) {
  const { log, filter, selection, handle, scroller, opened, areAllOpen, startsAtEnd } = props;
  const { blocks, cache, streamingText } = log;
  const [isFollowing, setFollowing] = useState(startsAtEnd);
  const [seen, setSeen] = useState(0);
  const total = selection.length + (streamingText === "" ? 0 : 1);
  const keyOf = useCallback((index: number) => selection[index] ?? STREAMING, [selection]);
  // The virtualizer does not store a height that equals the estimate. The estimate of a running command changes, so
  // without these heights, the gap below it would change too.
  const heights = useRef(new Map<number, number>());
  const list = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: (index) =>
      heights.current.get(keyOf(index)) ??
      (index < selection.length ? estimateHeight(blocks, selection[index] as number) : 80),
    measureElement(element: HTMLElement, entry, instance) {
      const height = measureElement(element, entry, instance);
      heights.current.set(keyOf(Number(element.dataset.index)), height);
      return height;
    },
    getItemKey: keyOf,
    overscan: 3,
    gap: 8,
    paddingStart: 16,
    paddingEnd: 24,
    anchorTo: isFollowing ? "end" : "start",
    followOnAppend: isFollowing,
    scrollEndThreshold: NEAR_END,
  });
  // A height change above the viewport must not move the visible blocks.
  list.shouldAdjustScrollPositionOnItemSizeChange = (item, _, { scrollOffset }) =>
    item.end <= (scrollOffset ?? 0) ||
    (item.start < (scrollOffset ?? 0) && !list.itemSizeCache.has(item.key));

  useLayoutEffect(() => {
    if (isFollowing && total > 0) list.scrollToEnd();
  }, [isFollowing, total, list]);

  // A queued message or a longer draft makes the list shorter, which must not hide its last lines.
  useEffect(() => {
    const element = scroller.current;
    if (!isFollowing || !element) return;
    const observer = new ResizeObserver(() => list.scrollToEnd());
    observer.observe(element);
    return () => observer.disconnect();
  }, [isFollowing, scroller, list]);

  const previousTop = useRef(0);
  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END;
    // Only scrolling down resumes following. A filter that shortens the list can also bring its end into view, but must
    // not resume following.
    if (isAtEnd && scrollTop > previousTop.current) setFollowing(true);
    if (!isAtEnd && scrollTop < previousTop.current - 1) setFollowing(false);
    previousTop.current = scrollTop;
  };
  useEffect(() => {
    if (opened.size > 0) setFollowing(false);
  }, [opened]);
  useEffect(() => {
    if (isFollowing) setSeen(selection.length);
  }, [isFollowing, selection.length]);

  const scrollTo = (block: number) => {
    const position = Math.min(positionOf(selection, block), selection.length - 1);
    if (position >= 0) list.scrollToIndex(position, { align: "start" });
  };
  const topBlock = () => {
    const position = list.getVirtualItemForOffset(scroller.current?.scrollTop ?? 0)?.index;
    return position === undefined ? undefined : selection[position];
  };

  // After a filter change, the old scroll offset belongs to other blocks. Nothing is rendered until the new offset is
  // known.
  const heldBlock = useRef<number>(undefined);
  const [renderedFilter, setRenderedFilter] = useState(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of the filter moves the list.
  useLayoutEffect(() => {
    if (renderedFilter === filter) return;
    if (heldBlock.current !== undefined) scrollTo(heldBlock.current);
    heldBlock.current = undefined;
    const frame = requestAnimationFrame(() => setRenderedFilter(filter));
    return () => cancelAnimationFrame(frame);
  }, [filter]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only expanding or collapsing all blocks moves the list.
  useLayoutEffect(() => {
    if (heldBlock.current !== undefined) scrollTo(heldBlock.current);
    heldBlock.current = undefined;
  }, [areAllOpen]);
  const items = renderedFilter === filter ? list.getVirtualItems() : [];
  useImperativeHandle(handle, () => ({
    show(block, { staysIfRendered } = { staysIfRendered: false }) {
      setFollowing(false);
      if (!staysIfRendered || !items.some(({ key }) => key === block)) scrollTo(block);
    },
    focus(step) {
      const focused = document.activeElement?.closest("[data-index]")?.getAttribute("data-index");
      const top = topBlock();
      const here = focused ? Number(focused) : top === undefined ? -1 : positionOf(selection, top) - step;
      const next = here + step;
      if (next < 0 || next >= selection.length) return;
      setFollowing(false);
      list.scrollToIndex(next, { align: "auto" });
      focusSoon(scroller, next);
    },
    scrollBy(distance) {
      list.scrollToOffset((scroller.current?.scrollTop ?? 0) + distance);
    },
    keepPosition() {
      heldBlock.current = isFollowing ? undefined : topBlock();
    },
    top: topBlock,
  }));

  const unseen = selection.length - seen;
  return (
    <div className="relative min-h-0 flex-1">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard. */}
      <section aria-label="Transcript" tabIndex={0} ref={scroller} onScroll={onScroll} className={box}>
        <div className="relative mx-auto w-full max-w-4xl" style={{ height: list.getTotalSize() }}>
          {items.map(({ index, key, start }) => (
            <div
              key={key}
              data-index={index}
              ref={list.measureElement}
              className="absolute inset-x-0 top-0 px-4"
              style={{ transform: `translateY(${start}px)` }}
            >
              {key === STREAMING ? (
                <StreamingMessage text={streamingText} />
              ) : (
                <Block block={key as number} blocks={blocks} cache={cache} />
              )}
            </div>
          ))}
        </div>
      </section>
      {!isFollowing && (
        <div className="pointer-events-none absolute inset-x-0 bottom-3 flex justify-center">
          <Button
            small
            className="pointer-events-auto h-8! rounded-full! px-3! shadow-pop max-sm:h-9!"
            icon={<ArrowDown className="size-4" aria-hidden />}
            onClick={() => setFollowing(true)}
          >
            {unseen > 0 && seen > 0 ? `${formatCount(unseen)} new · jump to latest` : "Jump to latest"}
          </Button>
        </div>
      )}
    </div>
  );
}

/** Focuses a block's first control, which exists once the list has scrolled to it and its events are loaded. */
function focusSoon(scroller: RefObject<HTMLElement | null>, index: number, frames = 60) {
  const block = scroller.current?.querySelector(`[data-index="${index}"] article`);
  const control = block?.querySelector<HTMLElement>("button[aria-expanded], a[href^='#e-']");
  if (control) control.focus({ preventScroll: true });
  else if (frames > 0) requestAnimationFrame(() => focusSoon(scroller, index, frames - 1));
}

// The browser's scroll anchoring is disabled because it would conflict with ours.
const box =
  "h-full overflow-x-clip overflow-y-auto overscroll-contain -outline-offset-2 [overflow-anchor:none]";
