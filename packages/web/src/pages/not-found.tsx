import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { ConnectionBanner } from "../frame/connection-banner.tsx";
import { Toaster } from "../frame/toaster.tsx";
import { buttonClass } from "../ui/button.tsx";
import { EmptyState } from "../ui/feedback/empty-state.tsx";
import { useTabTitle } from "../ui/tab-title.ts";

export function NotFound() {
  useTabTitle("Page not found");
  return (
    <main id="main" className="flex min-h-dvh flex-col">
      <ConnectionBanner />
      <h1 className="sr-only">Page not found</h1>
      <div className="m-auto px-4">
        <EmptyState
          icon={<Compass className="size-5" aria-hidden />}
          title="Page not found"
          action={
            <div className="flex flex-wrap justify-center gap-2">
              <Link to="/runs" className={buttonClass()}>
                View all runs
              </Link>
              <Link to="/" className={buttonClass("primary")}>
                Go home
              </Link>
            </div>
          }
        >
          There is no page at <code className="font-mono break-all">{location.pathname.slice(0, 200)}</code>.
          Check the link for typing errors.
        </EmptyState>
      </div>
      <Toaster />
    </main>
  );
}
