import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { OctagonPause } from "lucide-react";
import { queries } from "../queries.ts";
import { usePolledServiceStatus } from "../service-status.ts";

/**
 * Shows active restrictions above every page. The empty box is always rendered so that screen readers announce changes.
 */
export function Banner() {
  const { notice, message } = usePolledServiceStatus();
  const { data: me } = useQuery(queries.me());
  return (
    <div role="status" aria-label="Active restrictions" className="shrink-0">
      {notice && (
        <div className="flex flex-wrap items-start gap-x-2 border-b border-line bg-warn-soft px-4 py-2 sm:px-6 lg:px-8">
          <OctagonPause className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />
          <p className="line-clamp-4 min-w-0 flex-1 break-words sm:line-clamp-3" title={message}>
            {notice}
            {message && <q className="ml-1.5 text-muted">{message}</q>}
          </p>
          {me?.role === "admin" && (
            <Link
              to="/settings"
              search={{ section: "operations" }}
              className="shrink-0 font-medium max-sm:basis-full max-sm:py-1 max-sm:pl-6 whitespace-nowrap text-accent-ink underline underline-offset-2"
            >
              Operations
            </Link>
          )}
        </div>
      )}
    </div>
  );
}
