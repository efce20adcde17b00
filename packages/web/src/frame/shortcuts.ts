import { useEffect, useRef, useSyncExternalStore } from "react";
import { storedSetting } from "./stored-setting.ts";

export interface Shortcut {
  /** The key as in `KeyboardEvent.key`, with `mod+` for ⌘ or Ctrl: "mod+k", "j", "/", "?". */
  keys: string;
  /** The description shown in the list of shortcuts. */
  what: string;
  run: (event: KeyboardEvent) => void;
}

const active = new Set<{ current: Shortcut }>();
const listeners = new Set<() => void>();
let snapshot: readonly Shortcut[] = [];

function changed() {
  snapshot = [...active].map(({ current }) => current);
  for (const notify of listeners) notify();
}

const singleKeys = storedSetting("single-keys");

/**
 * Returns whether single-key shortcuts are enabled. Users can turn them off, because dictation and typing errors
 * trigger them by accident.
 */
export function areSingleKeysEnabled(): boolean {
  return singleKeys.read() !== "off";
}

export function setSingleKeysEnabled(on: boolean) {
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
  if (!mod && (isTyping(event.target) || !areSingleKeysEnabled() || document.querySelector("dialog[open]")))
    return;
  // The most recently registered shortcut takes precedence.
  const found = [...active].findLast(({ current }) => current.keys === keys);
  if (!found) return;
  event.preventDefault();
  found.current.run(event);
}

addEventListener("keydown", press);

/** Registers a shortcut while the component is mounted. Passing undefined registers nothing. */
export function useShortcut(shortcut: Shortcut | undefined) {
  const latest = useRef(shortcut);
  latest.current = shortcut;
  const keys = shortcut?.keys;
  useEffect(() => {
    if (!keys) return;
    const entry = latest as { current: Shortcut };
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
