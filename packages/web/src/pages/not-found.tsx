import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { buttonClass } from "../ui/button.tsx";
import { EmptyState } from "../ui/feedback/empty-state.tsx";
import { useTitle } from "../ui/page.tsx";

export function NotFound() {
  useTitle("Not found");
  return (
    <main id="main">
      <EmptyState
        icon={<Compass className="size-5" aria-hidden />}
        title="Page not found"
        action={
          <Link to="/" className={buttonClass("primary")}>
            Go home
          </Link>
        }
      >
        The link may be wrong, or the page may have been deleted.
      </EmptyState>
    </main>
  );
}
