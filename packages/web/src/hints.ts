import { useEffect, useRef } from "react";

export interface RunHint {
  run_id: string;
  state: string;
  updated_at: string;
}

/** Hints that were gathered for a moment; or `missed`, where some may never have been heard. */
export type Heard = { hints: RunHint[]; missed: false } | { missed: true };

const GATHER_MS = 250;
const TRY_AGAIN_MS = 5_000;

const listeners = new Set<(heard: Heard) => void>();
let source: EventSource | undefined;
let waiting: RunHint[] = [];
let gathering: ReturnType<typeof setTimeout> | undefined;
let retrying: ReturnType<typeof setTimeout> | undefined;
let wasOpen = false;

function tell(heard: Heard) {
  for (const listener of listeners) listener(heard);
}

function open() {
  if (source || listeners.size === 0 || document.hidden) return;
  const opened = new EventSource("/api/v1/agent/runs");
  source = opened;
  opened.onopen = () => {
    if (wasOpen) tell({ missed: true });
    wasOpen = true;
  };
  opened.onmessage = ({ data }) => {
    waiting.push(JSON.parse(data) as RunHint);
    gathering ??= setTimeout(() => {
      gathering = undefined;
      const hints = waiting;
      waiting = [];
      tell({ hints, missed: false });
    }, GATHER_MS);
  };
  opened.onerror = () => {
    // A broken connection the browser takes up itself; a refusal it takes for good.
    if (opened.readyState !== EventSource.CLOSED) return;
    close();
    retrying = setTimeout(open, TRY_AGAIN_MS);
  };
}

function close() {
  source?.close();
  source = undefined;
  clearTimeout(gathering);
  gathering = undefined;
  waiting = [];
  clearTimeout(retrying);
}

// Browsers allow an origin six connections for all its tabs: those that nobody sees must not hold one.
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));

/** Calls back when runs have changed, for as long as the component is shown. All who listen share one connection. */
export function useRunHints(onHeard: (heard: Heard) => void) {
  const held = useRef(onHeard);
  held.current = onHeard;
  useEffect(() => {
    const listener = (heard: Heard) => held.current(heard);
    listeners.add(listener);
    open();
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      close();
      wasOpen = false;
    };
  }, []);
}
