import { useEffect, useRef, useSyncExternalStore } from "react";
import { setting } from "./setting.ts";

export interface Shortcut {
  /** As in `KeyboardEvent.key`, with `mod+` for ⌘ or Ctrl: "mod+k", "j", "/", "?". */
  keys: string;
  /** For the list of shortcuts. */
  what: string;
  run: (event: KeyboardEvent) => void;
}

const active = new Set<{ current: Shortcut }>();
const listeners = new Set<() => void>();
let snapshot: readonly Shortcut[] = [];

function changed() {
  snapshot = [...active].map(({ current }) => current);
  for (const tell of listeners) tell();
}

const singleKeys = setting("single-keys");

/** Single letters can be switched off: who dictates, or whose keys slip, sets them off by accident. */
export function singleKeysAreOn(): boolean {
  return singleKeys.read() !== "off";
}

export function switchSingleKeys(on: boolean) {
  singleKeys.write(on ? undefined : "off");
  changed();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

function press(event: KeyboardEvent) {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const mod = event.metaKey || event.ctrlKey;
  const keys = (mod ? "mod+" : "") + event.key.toLowerCase();
  if (!mod && (isTyping(event.target) || !singleKeysAreOn() || document.querySelector("dialog[open]")))
    return;
  // The one that was added last stands in front.
  const found = [...active].findLast(({ current }) => current.keys === keys);
  if (!found) return;
  event.preventDefault();
  found.current.run(event);
}

addEventListener("keydown", press);

/** Works as long as the component is shown. Undefined switches it off. */
export function useShortcut(shortcut: Shortcut | undefined) {
  const held = useRef(shortcut);
  held.current = shortcut;
  const keys = shortcut?.keys;
  useEffect(() => {
    if (!keys) return;
    const entry = held as { current: Shortcut };
    active.add(entry);
    changed();
    return () => {
      active.delete(entry);
      changed();
    };
  }, [keys]);
}

export function useActiveShortcuts(): readonly Shortcut[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => snapshot,
  );
}
