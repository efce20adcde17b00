import { useVirtualizer } from "@tanstack/react-virtual";
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
import { count } from "../../../ui/amount.ts";
import { Button } from "../../../ui/button.tsx";
import type { LogView } from "../log/view.ts";
import { Block } from "./block.tsx";
import { estimate } from "./estimate.ts";
import { type Filter, placeOf } from "./filter.ts";
import { Speaking } from "./speaking.tsx";

/** The place of what is being said, behind all that stands in the log. */
const SPEAKING = 0xffffffff;
const NEAR_END = 48;

export interface ListHandle {
  /** Brings a block into sight, or what comes behind it where a filter hides it. */
  show(block: number): void;
  /** Before a filter changes: what is read now is to stay; who follows the end goes on with that. */
  hold(): void;
  /** The block at the upper edge. */
  top(): number | undefined;
}

interface ListProps {
  log: LogView;
  filter: Filter;
  selection: Uint32Array;
  handle: RefObject<ListHandle | null>;
  scroller: RefObject<HTMLDivElement | null>;
  /** A reader who opens something wants to read it, not to be carried on. */
  opened: ReadonlyMap<number, boolean>;
  startsAtEnd: boolean;
}

/** The blocks that are in sight, at their place among all the others. Follows the end until the reader turns away. */
export function List({ log, filter, selection, handle, scroller, opened, startsAtEnd }: ListProps) {
  const { blocks, bodies, speaking } = log;
  const [isFollowing, setFollowing] = useState(startsAtEnd);
  const [seen, setSeen] = useState(0);
  const total = selection.length + (speaking === "" ? 0 : 1);
  const keyOf = useCallback((index: number) => selection[index] ?? SPEAKING, [selection]);
  const list = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (index < selection.length ? estimate(blocks, selection[index] as number) : 80),
    getItemKey: keyOf,
    overscan: 3,
    gap: 8,
    paddingStart: 16,
    paddingEnd: 24,
    anchorTo: isFollowing ? "end" : "start",
    followOnAppend: isFollowing,
    scrollEndThreshold: NEAR_END,
  });
  // Whatever lies above the upper edge may change its height without moving what is being read.
  list.shouldAdjustScrollPositionOnItemSizeChange = (item, _, { scrollOffset }) =>
    item.end <= (scrollOffset ?? 0) ||
    (item.start < (scrollOffset ?? 0) && !list.itemSizeCache.has(item.key));

  useLayoutEffect(() => {
    if (isFollowing && total > 0) list.scrollToEnd();
  }, [isFollowing, total, list]);

  const before = useRef(0);
  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END;
    // A filter that leaves little brings the end near without anybody having gone there.
    if (isAtEnd && scrollTop > before.current) setFollowing(true);
    if (!isAtEnd && scrollTop < before.current - 1) setFollowing(false);
    before.current = scrollTop;
  };
  useEffect(() => {
    if (opened.size > 0) setFollowing(false);
  }, [opened]);
  useEffect(() => {
    if (isFollowing) setSeen(selection.length);
  }, [isFollowing, selection.length]);

  const scrollTo = (block: number) => {
    const place = Math.min(placeOf(selection, block), selection.length - 1);
    if (place >= 0) list.scrollToIndex(place, { align: "start" });
  };
  const topBlock = () => {
    const place = list.getVirtualItemForOffset(scroller.current?.scrollTop ?? 0)?.index;
    return place === undefined ? undefined : selection[place];
  };

  // Behind another filter other blocks stand at the old place. They are not drawn before the new place is found.
  const held = useRef<number>(undefined);
  const [drawn, setDrawn] = useState(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of the filter moves the list.
  useLayoutEffect(() => {
    if (drawn === filter) return;
    if (held.current !== undefined) scrollTo(held.current);
    held.current = undefined;
    const frame = requestAnimationFrame(() => setDrawn(filter));
    return () => cancelAnimationFrame(frame);
  }, [filter]);
  const items = drawn === filter ? list.getVirtualItems() : [];
  useImperativeHandle(handle, () => ({
    show(block) {
      setFollowing(false);
      scrollTo(block);
    },
    hold() {
      held.current = isFollowing ? undefined : topBlock();
    },
    top: topBlock,
  }));

  const unseen = selection.length - seen;
  return (
    <div className="relative min-h-0 flex-1">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard. */}
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
              {key === SPEAKING ? (
                <Speaking text={speaking} />
              ) : (
                <Block block={key as number} blocks={blocks} bodies={bodies} />
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
            {unseen > 0 && seen > 0 ? `${count(unseen)} new · jump to latest` : "Jump to latest"}
          </Button>
        </div>
      )}
    </div>
  );
}

// Our own anchoring would fight with the browser's.
const box =
  "h-full overflow-x-clip overflow-y-auto overscroll-contain -outline-offset-2 [overflow-anchor:none]";
