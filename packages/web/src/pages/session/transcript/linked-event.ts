import { useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";

/** Scrolls to the event in the URL's fragment, such as `#e-123`. Returns whether the URL contains one. */
export function useLinkedEvent(isReady: boolean, goTo: (seq: number, isLinked: boolean) => void): boolean {
  const hash = useRouterState({ select: ({ location }) => location.hash });
  const seq = Number(/^e-(\d{1,9})$/.exec(hash)?.[1] ?? 0);
  useEffect(() => {
    if (isReady && seq > 0) goTo(seq, true);
  }, [isReady, seq, goTo]);
  return seq > 0;
}
