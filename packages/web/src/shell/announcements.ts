import { useSyncExternalStore } from "react";

export type Tone = "good" | "bad";

export interface Announcement {
  id: number;
  text: string;
  tone: Tone;
}

const SHOWN_MS = 5_000;

let all: readonly Announcement[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Announcement[]) {
  all = next;
  for (const tell of listeners) tell();
}

/** Says something in passing: what was done, or why it was not. It is read aloud too. */
export function announce(text: string, tone: Tone = "good") {
  lastId += 1;
  const id = lastId;
  change([...all.slice(-2), { id, text, tone }]);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function dismiss(id: number) {
  change(all.filter((announcement) => announcement.id !== id));
}

export function useAnnouncements(): readonly Announcement[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => all,
  );
}
