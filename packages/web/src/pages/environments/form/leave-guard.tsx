import { useBlocker } from "@tanstack/react-router";
import { Confirm } from "../../../ui/overlay/confirm.tsx";

/** Asks for confirmation before the user leaves the page or closes the tab with unsaved changes. */
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
      <p>Your changes have not been saved and will be lost.</p>
    </Confirm>
  );
}
