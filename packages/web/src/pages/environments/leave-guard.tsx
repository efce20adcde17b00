import { useBlocker } from "@tanstack/react-router";
import { Confirm } from "../../ui/confirm.tsx";

/** Asks before what was typed is lost, be it to another page or to a closed tab. */
export function LeaveGuard({ isDirty }: { isDirty: () => boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty() && current.pathname !== next.pathname,
    enableBeforeUnload: isDirty,
    withResolver: true,
  });
  if (blocker.status !== "blocked") return null;
  return (
    <Confirm
      title="Leave without saving?"
      action="Leave"
      cancel="Stay"
      onConfirm={blocker.proceed}
      onClose={blocker.reset}
    >
      <p>What you changed here has not been saved and would be lost.</p>
    </Confirm>
  );
}
