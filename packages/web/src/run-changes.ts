import { useEffect, useRef } from "react";
import { confirmLoss, onReconnected, reportContact } from "./frame/connection.ts";

export interface RunChange {
  run_id: string;
  state: string;
  updated_at: string;
}

/**
 * Changes collected over a short interval. If `missed` is true, some changes may have been lost while the connection
 * was down.
 */
export type RunChanges = { changes: RunChange[]; missed: false } | { missed: true };

const BATCH_MS = 250;
const RETRY_MS = 5_000;

const listeners = new Set<(event: RunChanges) => void>();
let source: EventSource | undefined;
let pending: RunChange[] = [];
let flushTimer: ReturnType<typeof setTimeout> | undefined;
let retryTimer: ReturnType<typeof setTimeout> | undefined;
let wasOpen = false;

function notify(event: RunChanges) {
  for (const listener of listeners) listener(event);
}

function open() {
  if (source || listeners.size === 0 || document.hidden) return;
  const opened = new EventSource("/api/v1/agent/runs");
  source = opened;
  opened.onopen = () => {
    reportContact();
    if (wasOpen) notify({ missed: true });
    wasOpen = true;
  };
  opened.onmessage = ({ data }) => {
    pending.push(JSON.parse(data) as RunChange);
    flushTimer ??= setTimeout(() => {
      flushTimer = undefined;
      const changes = pending;
      pending = [];
      notify({ changes, missed: false });
    }, BATCH_MS);
  };
  opened.onerror = () => {
    void confirmLoss();
    // The browser reconnects after a broken connection, but not after an HTTP error.
    if (opened.readyState !== EventSource.CLOSED) return;
    close();
    retryTimer = setTimeout(open, RETRY_MS);
  };
}

function close() {
  source?.close();
  source = undefined;
  clearTimeout(flushTimer);
  flushTimer = undefined;
  pending = [];
  clearTimeout(retryTimer);
}

// Browsers allow six HTTP/1.1 connections per origin across all tabs, so hidden tabs close theirs.
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));

// The browser would wait for some seconds before it connects again.
onReconnected(() => {
  close();
  open();
});

/** Calls `onChange` when runs change while the component is mounted. All callers share one connection. */
export function useRunChanges(onChange: (event: RunChanges) => void) {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    const listener = (event: RunChanges) => latest.current(event);
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
