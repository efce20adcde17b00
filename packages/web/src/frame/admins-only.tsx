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
      <h1 className="sr-only">Admins only</h1>
      <AdminsOnlyNotice what="page" />
    </main>
  );
}

export function AdminsOnlyNotice({ what }: { what: "page" | "section" }) {
  return (
    <EmptyState
      icon={<ShieldAlert className="size-5" aria-hidden />}
      title={`Only admins can open this ${what}`}
      action={
        <Link to="/" className={buttonClass()}>
          Go home
        </Link>
      }
    >
      Ask an admin to make the change for you, or to make you an admin.
    </EmptyState>
  );
}
