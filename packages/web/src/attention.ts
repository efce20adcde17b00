import type { AttentionRequest, RunItem } from "@outrider/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { outrider } from "./api.ts";
import { storedSetting } from "./frame/stored-setting.ts";
import { showToast } from "./frame/toasts.ts";
import { queries } from "./queries.ts";
import { describeError } from "./request-error.ts";

/** Runs that need attention: whose runs the user wants to see, and what the user dismissed. */

export type AttentionScope = "mine" | "everyone";

const stored = storedSetting("attention.scope");
const listeners = new Set<() => void>();

const readScope = (): AttentionScope => (stored.read() === "mine" ? "mine" : "everyone");

export function setAttentionScope(scope: AttentionScope) {
  stored.write(scope === "mine" ? "mine" : undefined);
  for (const notify of listeners) notify();
}

export function useAttentionScope(): AttentionScope {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, readScope);
}

/** Loads the runs that need attention and their count. A limit of 0 loads only the count. */
export function useAttention(limit: number) {
  const scope = useAttentionScope();
  return useQuery(queries.attention({ limit, ...(scope === "mine" && { creator: "me" }) }));
}

/** Dismisses, snoozes and restores runs. Each change can be undone from its toast. */
export function useDismiss() {
  const client = useQueryClient();
  const scope = useAttentionScope();
  const settled = {
    onSettled: () => client.invalidateQueries({ queryKey: ["attention"] }),
    onError: (error: unknown) => showToast(describeError(error).detail, "bad"),
  };
  const restore = useMutation({
    mutationFn: (runId: string) => outrider.attention.restore(runId),
    ...settled,
  });
  const dismiss = useMutation({
    mutationFn: ({ run, ...body }: { run: RunItem } & AttentionRequest) =>
      outrider.attention.dismiss(run.run_id, body),
    ...settled,
    onSuccess: (_, { run, snoozed_until }) =>
      showToast(snoozed_until ? "Run snoozed" : "Run dismissed", "good", {
        label: "Undo",
        run: () => restore.mutate(run.run_id),
      }),
  });
  const dismissAll = useMutation({
    mutationFn: () => outrider.attention.dismissAll(scope === "mine" ? { creator: "me" } : {}),
    ...settled,
    onSuccess: ({ dismissed }) =>
      showToast(dismissed === 1 ? "1 run dismissed" : `${dismissed} runs dismissed`),
  });
  return { dismiss, dismissAll };
}
