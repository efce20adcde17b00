import { onlineManager } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

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

/** A page that sends no requests notices the loss as quickly as others. */
const SILENCE_MS = 4_000;
const PROBE_TIMEOUT_MS = 4_000;
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 5_000;

let connection: Connection = { isLost: false, lastContact: Date.now() };
let lastContact = Date.now();
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
  try {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
    const response = await globalThis.fetch("/healthz", { cache: "no-store", signal });
    if (response.status === 502 || response.status === 504) throw new Error("The server did not respond.");
    reportContact();
  } catch {
    change(true);
  }
  return connection.isLost;
}

function schedule() {
  clearTimeout(timer);
  timer = setTimeout(check, connection.isLost ? retryMs : SILENCE_MS);
  if (connection.isLost) retryMs = Math.min(retryMs * 1.5, MAX_RETRY_MS);
}

function check() {
  const isQuiet = Date.now() - lastContact >= SILENCE_MS;
  if (!document.hidden && (connection.isLost || isQuiet)) void confirmLoss();
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
