import type { RunItem } from "@outrider/sdk";
import { useEffect, useSyncExternalStore } from "react";
import type { RunAction } from "../pages/session/actions/actions.tsx";

/** The run whose page is open, with what the command menu needs to offer its actions. */
export interface CurrentRun {
  run: RunItem;
  /** Whether the user may cancel, share and delete the run. */
  isAllowed: boolean;
  /** Opens the dialog of an action. */
  open: (action: RunAction) => void;
}

let current: CurrentRun | undefined;
const listeners = new Set<() => void>();

function change(next: CurrentRun | undefined) {
  current = next;
  for (const notify of listeners) notify();
}

/** Offers the run's actions in the command menu while its page is shown. */
export function useOfferedRun({ run, isAllowed, open }: CurrentRun) {
  useEffect(() => {
    change({ run, isAllowed, open });
    return () => change(undefined);
  }, [run, isAllowed, open]);
}

export function useCurrentRun(): CurrentRun | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}
