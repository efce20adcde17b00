import clsx from "clsx";
import { ChevronDown } from "lucide-react";
import {
  type ComponentProps,
  type KeyboardEvent,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { controlBox } from "./control-box.ts";
import { ListboxOptions, optionId } from "./listbox-options.tsx";
import { findTyped, nearestEnabled, readOptions, type SelectOption } from "./options.ts";

const TYPING_PAUSE_MS = 700;

/**
 * A select with a list of our own design. It takes the attributes and `option` children of a native select, which
 * remains in the page without being shown: it holds the options and the value, so that form libraries and change
 * handlers see an ordinary select. The visible button follows the ARIA pattern of a select-only combobox.
 */
export function Listbox(props: ComponentProps<"select">) {
  const { className, id, title, disabled, ref, children, value, required, ...rest } = props;
  const { "aria-label": label, "aria-describedby": describedBy, "aria-invalid": isInvalid, ...others } = rest;
  const ownId = useId();
  const buttonId = id ?? ownId;
  const listId = `${buttonId}-list`;
  const button = useRef<HTMLButtonElement>(null);
  const select = useRef<HTMLSelectElement>(null);
  const typed = useRef({ text: "", at: 0 });
  const [options, setOptions] = useState<readonly SelectOption[]>([]);
  const [current, setCurrent] = useState("");
  /** The index of the highlighted option. The list is open if this is defined. */
  const [active, setActive] = useState<number>();
  const isOpen = active !== undefined;
  const shown = value === undefined ? current : String(value);
  const selected = options.findIndex((option) => option.value === shown);

  const read = useCallback(() => {
    const element = select.current;
    if (!element) return;
    const next = readOptions(element);
    setOptions((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next));
    setCurrent(element.value);
  }, []);
  useLayoutEffect(read);
  // A component among the children can change its options without rendering the select again.
  useEffect(() => {
    const observer = new MutationObserver(read);
    observer.observe(select.current as Node, {
      ...{ childList: true, subtree: true, characterData: true, attributes: true },
    });
    return () => observer.disconnect();
  }, [read]);

  const open = (at = selected) => {
    const first = nearestEnabled(options, 0, 1);
    setActive(at >= 0 ? at : Math.max(first, 0));
  };
  const close = () => setActive(undefined);
  const choose = (index: number) => {
    close();
    const option = options[index];
    const element = select.current;
    if (!option || option.isDisabled || !element || option.value === shown) return;
    element.selectedIndex = index;
    element.dispatchEvent(new Event("change", { bubbles: true }));
    read();
  };
  const move = (from: number, step: 1 | -1) => {
    const next = nearestEnabled(options, from, step);
    if (next >= 0) setActive(next);
  };
  const type = (key: string, now: number) => {
    const before = now - typed.current.at < TYPING_PAUSE_MS ? typed.current.text : "";
    typed.current = { text: before + key, at: now };
    const found = findTyped(options, typed.current.text, active ?? selected);
    if (found >= 0) setActive(found);
    else if (!isOpen) open();
  };
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.nativeEvent.isComposing) return;
    const last = options.length - 1;
    const isTyping = event.timeStamp - typed.current.at < TYPING_PAUSE_MS;
    const isSpace = event.key === " " && !isTyping;
    if (!isOpen) {
      if (isSpace || ["Enter", "ArrowDown", "ArrowUp"].includes(event.key)) open();
      else if (event.key === "Home") open(nearestEnabled(options, 0, 1));
      else if (event.key === "End") open(nearestEnabled(options, last, -1));
      else if (event.key.length === 1 && event.key !== " " && !event.altKey) type(event.key, event.timeStamp);
      else return;
    } else if (event.key === "Tab") {
      choose(active);
      return;
    } else if (isSpace || event.key === "Enter" || (event.key === "ArrowUp" && event.altKey)) choose(active);
    else if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") move(active + 1, 1);
    else if (event.key === "ArrowUp") move(active - 1, -1);
    else if (event.key === "PageDown") move(Math.min(active + 8, last), 1);
    else if (event.key === "PageUp") move(Math.max(active - 8, 0), -1);
    else if (event.key === "Home") move(0, 1);
    else if (event.key === "End") move(last, -1);
    else if (event.key.length === 1) type(event.key, event.timeStamp);
    else return;
    // The dialog around the select stays open, and no shortcut of the page runs.
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        role="combobox"
        id={buttonId}
        title={title}
        disabled={disabled}
        aria-label={label}
        aria-describedby={describedBy}
        aria-invalid={isInvalid}
        aria-required={required}
        aria-haspopup="listbox"
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-activedescendant={isOpen ? optionId(listId, active) : undefined}
        data-value={shown}
        data-autofocus={(others as Record<string, unknown>)["data-autofocus"] ? "" : undefined}
        onClick={() => {
          // Safari does not focus a button that is clicked.
          button.current?.focus();
          if (isOpen) close();
          else open();
        }}
        onKeyDown={press}
        onBlur={close}
        className={clsx(controlBox, "flex h-9 items-center gap-2 pr-2 text-left", className)}
      >
        <span className="min-w-0 flex-1 truncate">{options[selected]?.label ?? "\u00a0"}</span>
        <ChevronDown className="size-4 shrink-0 text-muted" aria-hidden />
      </button>
      <select
        {...others}
        {...(value === undefined ? {} : { value })}
        ref={(element) => {
          select.current = element;
          // Forms focus the select that they know, which is not shown.
          if (element) element.focus = () => button.current?.focus();
          if (typeof ref === "function") return ref(element);
          if (ref) ref.current = element;
        }}
        hidden
        tabIndex={-1}
        aria-hidden
      >
        {children}
      </select>
      {isOpen && (
        <ListboxOptions
          id={listId}
          label={label ?? labelOf(button.current)}
          {...{ button, options, selected, active }}
          onActive={setActive}
          onChoose={choose}
        />
      )}
    </>
  );
}

function labelOf(button: HTMLButtonElement | null): string {
  return button?.labels[0]?.textContent ?? "Options";
}
