import { useSyncExternalStore } from "react";

export type Tone = "good" | "bad";

export interface Toast {
  id: number;
  text: string;
  tone: Tone;
  action?: ToastAction;
}

/** A button in a toast, such as Undo. */
export interface ToastAction {
  label: string;
  run: () => void;
}

const SHOWN_MS = 5_000;
/** Long enough to notice a mistake. */
const WITH_ACTION_MS = 10_000;

let all: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]) {
  all = next;
  for (const notify of listeners) notify();
}

/** Shows a short message for a few seconds. Screen readers also announce it. */
export function showToast(text: string, tone: Tone = "good", action?: ToastAction) {
  lastId += 1;
  const id = lastId;
  change([...all.slice(-2), { id, text, tone, ...(action && { action }) }]);
  setTimeout(() => dismiss(id), action ? WITH_ACTION_MS : SHOWN_MS);
}

export function dismiss(id: number) {
  change(all.filter((toast) => toast.id !== id));
}

export function useToasts(): readonly Toast[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => all,
  );
}
