import { useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";

/** Goes to the event that the address names, as `#e-123`; answers whether it names one. */
export function useLinkedEvent(isReady: boolean, goTo: (seq: number, isLinked: boolean) => void): boolean {
  const hash = useRouterState({ select: ({ location }) => location.hash });
  const seq = Number(/^e-(\d{1,9})$/.exec(hash)?.[1] ?? 0);
  useEffect(() => {
    if (isReady && seq > 0) goTo(seq, true);
  }, [isReady, seq, goTo]);
  return seq > 0;
}
