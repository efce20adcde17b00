import { onlineManager } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { MAX_SILENCE_MS, PROBE_TIMEOUT_MS } from "./loss-timing.ts";

/**
 * Knows whether the server can be reached. All requests report their outcome here. A failed one is confirmed by a probe,
 * because a single connection can break while the server is fine. While the connection is lost, queries pause and keep
 * the data that they have; when it is back, they continue.
 */
export interface Connection {
  isLost: boolean;
  /** The time of the last response. What the page shows is not newer. */
  lastContact: number;
}

/** A page that was frozen, for example by a busy computer, counts one tick. It reads responses that have arrived next. */
const TICK_MS = 250;
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 5_000;

let connection: Connection = { isLost: false, lastContact: Date.now() };
let lastContact = Date.now();
/** Like the above, by a clock that nobody sets. */
let heardAt = performance.now();
let contacts = 0;
let probeRequest: AbortController | undefined;
let probing: Promise<boolean> | undefined;
let retryMs = MIN_RETRY_MS;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
const reconnectListeners = new Set<() => void>();

// Only probes decide whether the app is online: the browser knows about the network, and not about the server.
onlineManager.setEventListener(() => undefined);

function change(isLost: boolean) {
  if (isLost === connection.isLost) return;
  connection = { isLost, lastContact };
  retryMs = MIN_RETRY_MS;
  for (const notify of listeners) notify();
  onlineManager.setOnline(!isLost);
  if (!isLost) for (const notify of [...reconnectListeners]) notify();
}

/** Sends a request to the server and notes whether it responded. */
export async function observedFetch(url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await globalThis.fetch(url, init);
    // A proxy in front of the server reports with these that the server did not respond.
    if (response.status === 502 || response.status === 504) void confirmLoss();
    else reportContact();
    return response;
  } catch (error) {
    if (!init.signal?.aborted) void confirmLoss();
    throw error;
  }
}

export function reportContact() {
  lastContact = Date.now();
  heardAt = performance.now();
  contacts += 1;
  change(false);
}

/** Checks whether the server responds. Called after a request or a stream has failed. */
export function confirmLoss(): Promise<boolean> {
  probing ??= probe().finally(() => {
    probing = undefined;
    schedule();
  });
  return probing;
}

/** Returns whether the connection is lost. */
async function probe(): Promise<boolean> {
  // The previous probe may still wait. If it is answered after all, however late, the connection is back.
  probeRequest?.abort();
  probeRequest = new AbortController();
  const before = contacts;
  await Promise.race([ping(probeRequest.signal).catch(() => {}), silenceAfter(before)]);
  if (contacts === before) change(true);
  return connection.isLost;
}

async function ping(signal: AbortSignal) {
  // Other requests of the page must not delay it: browsers open only six connections to a server.
  const init = { cache: "no-store", credentials: "omit", priority: "high", signal } as const;
  const response = await globalThis.fetch("/healthz", init);
  if (response.status !== 502 && response.status !== 504) reportContact();
  // The connection can be used again once the body is read.
  await response.text();
}

/** Waits for the probe's timeout, or until the server has responded to any request. */
async function silenceAfter(before: number) {
  for (let waited = 0; waited < PROBE_TIMEOUT_MS && contacts === before; waited += TICK_MS)
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
}

function schedule() {
  clearTimeout(timer);
  const untilQuiet = Math.max(0, heardAt + MAX_SILENCE_MS - performance.now());
  timer = setTimeout(check, connection.isLost ? retryMs : untilQuiet);
  if (connection.isLost) retryMs = Math.min(retryMs * 1.5, MAX_RETRY_MS);
}

function check() {
  // A hidden page checks when it becomes visible.
  if (document.hidden) return;
  const isQuiet = performance.now() - heardAt >= MAX_SILENCE_MS;
  if (connection.isLost || isQuiet) void confirmLoss();
  else schedule();
}

/** Checks again at once if something suggests that the connection has changed. */
export function retryConnection() {
  if (document.hidden) return;
  retryMs = MIN_RETRY_MS;
  void confirmLoss();
}

export function watchConnection() {
  addEventListener("online", retryConnection);
  addEventListener("offline", retryConnection);
  document.addEventListener("visibilitychange", retryConnection);
  schedule();
}

/** Calls the listener each time the server can be reached again. Returns a function that stops this. */
export function onReconnected(listener: () => void): () => void {
  reconnectListeners.add(listener);
  return () => void reconnectListeners.delete(listener);
}

/** Loads a part of the app's code. If the server cannot be reached, waits until it can, and loads the part then. */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load();
    } catch (error) {
      // The file is missing if the server was updated since. The router loads the page again in that case.
      if (!(await confirmLoss())) throw error;
      await new Promise<void>((resolve) => {
        const stop = onReconnected(() => {
          stop();
          resolve();
        });
      });
    }
  }
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => connection,
  );
}
