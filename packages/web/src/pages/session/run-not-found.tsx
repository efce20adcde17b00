import { Link } from "@tanstack/react-router";
import { Compass, Trash2 } from "lucide-react";
import { buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";

/** Shown if a run does not exist, is not accessible, or was deleted while the page was open. */
export function RunNotFound({ wasDeleted }: { wasDeleted: boolean }) {
  const Icon = wasDeleted ? Trash2 : Compass;
  return (
    <main id="main">
      <EmptyState
        icon={<Icon className="size-5" aria-hidden />}
        title={wasDeleted ? "This run was deleted" : "Run not found"}
        action={
          <Link to="/runs" className={buttonClass("primary")}>
            View all runs
          </Link>
        }
      >
        {wasDeleted
          ? "Someone deleted this run while you were viewing it."
          : "The link may be wrong, the run may have been deleted, or you may not have access to it."}
      </EmptyState>
    </main>
  );
}
