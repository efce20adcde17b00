import { useQueryClient } from "@tanstack/react-query";
import { CloudOff } from "lucide-react";
import { useEffect } from "react";
import { clockTime } from "../ui/format/time.tsx";
import { onReconnected, retryConnection, useConnection } from "./connection.ts";
import { showToast } from "./toasts.ts";

/**
 * Says on every page that the server cannot be reached and how old the shown data is. The empty box is always rendered
 * so that screen readers announce changes.
 */
export function ConnectionBanner() {
  const { isLost, lastContact } = useConnection();
  const client = useQueryClient();
  useEffect(
    () =>
      onReconnected(() => {
        void client.invalidateQueries();
        showToast("Connected again");
      }),
    [client],
  );
  return (
    <div role="status" aria-label="Connection" className="shrink-0">
      {isLost && (
        <div className="flex flex-wrap items-start gap-x-2 border-b border-line bg-warn-soft px-4 py-2 sm:px-6 lg:px-8">
          <CloudOff className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />
          <p className="min-w-0 flex-1">
            <strong className="font-semibold">Can’t reach the server.</strong> You see what was loaded before{" "}
            <time dateTime={new Date(lastContact).toISOString()}>{clockTime(lastContact)}</time>. The rest
            loads when the connection is back.
          </p>
          <button
            type="button"
            onClick={retryConnection}
            className="shrink-0 font-medium whitespace-nowrap text-accent-ink underline underline-offset-2 max-sm:basis-full max-sm:py-1 max-sm:pl-6 max-sm:text-left"
          >
            Try now
          </button>
        </div>
      )}
    </div>
  );
}
