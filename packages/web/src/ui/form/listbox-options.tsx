import clsx from "clsx";
import { Check } from "lucide-react";
import { type RefObject, useLayoutEffect, useRef } from "react";
import type { SelectOption } from "./options.ts";

interface ListboxOptionsProps {
  id: string;
  label: string;
  button: RefObject<HTMLButtonElement | null>;
  options: readonly SelectOption[];
  /** The index of the option that is current. */
  selected: number;
  /** The index of the option that Enter would choose. */
  active: number;
  onActive: (index: number) => void;
  onChoose: (index: number) => void;
}

const GAP = 4;
const MARGIN = 8;
const MAX_HEIGHT = 320;

export function optionId(id: string, index: number): string {
  return `${id}-${index}`;
}

/**
 * Shows the options of a select. The list is in the browser's top layer, so that neither a dialog nor a scroll container
 * clips it. The focus remains on the button.
 */
export function ListboxOptions(props: ListboxOptionsProps) {
  const { id, label, button, options, selected, active, onActive, onChoose } = props;
  const list = useRef<HTMLDivElement>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the size of the list depends on its options.
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return;
    if (!element.matches(":popover-open")) element.showPopover();
    const place = () => button.current && placeList(element, button.current);
    place();
    const onScroll = ({ target }: Event) => target !== element && place();
    addEventListener("resize", place);
    addEventListener("scroll", onScroll, true);
    return () => {
      removeEventListener("resize", place);
      removeEventListener("scroll", onScroll, true);
    };
  }, [options]);

  useLayoutEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the button, which keeps the focus, handles keys.
    <div
      ref={list}
      id={id}
      popover="manual"
      role="listbox"
      aria-label={label}
      tabIndex={-1}
      // The focus stays on the button, and a label around the select does not open it again.
      onMouseDown={(event) => event.preventDefault()}
      onClick={(event) => {
        event.preventDefault();
        event.stopPropagation();
      }}
      className="fixed inset-auto z-60 m-0 overflow-y-auto overscroll-contain rounded-lg border border-line bg-surface p-1 text-sm font-normal text-ink shadow-pop"
    >
      {options.map((option, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: as above.
        <div
          key={`${option.value} ${option.label}`}
          id={optionId(id, index)}
          role="option"
          tabIndex={-1}
          aria-selected={index === selected}
          aria-disabled={option.isDisabled || undefined}
          data-value={option.value}
          onPointerMove={() => !option.isDisabled && index !== active && onActive(index)}
          onClick={() => !option.isDisabled && onChoose(index)}
          className={clsx(
            "flex min-h-8 cursor-pointer select-none items-center gap-2 rounded-md py-1 pr-3 pl-2 max-sm:min-h-10",
            index === active && "bg-raised",
            option.isDisabled && "cursor-default text-muted opacity-70",
          )}
        >
          <Check
            className={clsx("size-4 shrink-0 text-accent-ink", index !== selected && "invisible")}
            aria-hidden
          />
          <span className="min-w-0 break-words">{option.label}</span>
        </div>
      ))}
    </div>
  );
}

/** Places the list below the button or, if there is more room, above it. It never leaves the window. */
function placeList(list: HTMLElement, button: HTMLElement) {
  const { top, bottom, left, width } = button.getBoundingClientRect();
  const below = innerHeight - bottom - GAP - MARGIN;
  const above = top - GAP - MARGIN;
  Object.assign(list.style, {
    minWidth: `${Math.min(width, innerWidth - 2 * MARGIN)}px`,
    maxWidth: `${Math.min(Math.max(width, 448), innerWidth - 2 * MARGIN)}px`,
    maxHeight: `${MAX_HEIGHT}px`,
    top: "0px",
    left: "0px",
  });
  const height = list.offsetHeight;
  const opensUp = height > below && above > below;
  const room = Math.max(Math.min(MAX_HEIGHT, opensUp ? above : below), 96);
  const shown = Math.min(height, room);
  list.style.maxHeight = `${room}px`;
  list.style.top = `${opensUp ? top - GAP - shown : bottom + GAP}px`;
  list.style.left = `${Math.max(MARGIN, Math.min(left, innerWidth - MARGIN - list.offsetWidth))}px`;
}
