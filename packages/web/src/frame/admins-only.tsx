import { Link } from "@tanstack/react-router";
import { ShieldAlert } from "lucide-react";
import { buttonClass } from "../ui/button.tsx";
import { EmptyState } from "../ui/feedback/empty-state.tsx";
import { useTabTitle } from "../ui/tab-title.ts";

/** Takes the place of a page that only admins can use. */
export function AdminsOnly() {
  useTabTitle("Admins only");
  return (
    <main id="main">
      <EmptyState
        icon={<ShieldAlert className="size-5" aria-hidden />}
        title="Only admins can open this page"
        action={
          <Link to="/" className={buttonClass("primary")}>
            Go home
          </Link>
        }
      >
        Ask an admin to make the change, or to give you the role Admin under Settings → Users.
      </EmptyState>
    </main>
  );
}
