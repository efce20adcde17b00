import { NotFoundError } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Unlink } from "lucide-react";
import { useEffect } from "react";
import { ConnectionBanner } from "../../frame/connection-banner.tsx";
import { Toaster } from "../../frame/toaster.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { useTabTitle } from "../../ui/tab-title.ts";
import { SessionSkeleton } from "../session/session-skeleton.tsx";
import { readShared } from "./shared-run.ts";
import { SharedView } from "./shared-view.tsx";

const route = getRouteApi("/shared/$token");

/** Shows the read-only page for a shared run. */
export function Shared() {
  const { token } = route.useParams();
  const { tab = "transcript" } = route.useSearch();
  const {
    data: first,
    error,
    refetch,
  } = useQuery({
    queryKey: ["shared", token],
    queryFn: async ({ signal }) => (await readShared(token, { after: 0, limit: 1, signal })).run,
    staleTime: 0,
  });
  useTabTitle(first ? `${first.title} (shared)` : "Shared run");
  useNoIndex();
  return (
    <div className="flex h-dvh min-h-96 flex-col">
      <ConnectionBanner />
      {error instanceof NotFoundError ? (
        <main id="main">
          <EmptyState
            icon={<Unlink className="size-5" aria-hidden />}
            title="This link is not valid"
            action={
              <Link to="/" className={buttonClass()}>
                Go home
              </Link>
            }
          >
            It has expired, was revoked or is mistyped. Ask the sender for a new one.
          </EmptyState>
        </main>
      ) : first ? (
        <SharedView key={token} token={token} run={first} tab={tab} onGone={() => void refetch()} />
      ) : error ? (
        <main id="main" className="mx-auto w-full max-w-2xl p-6">
          <ErrorAlert error={error} onRetry={() => void refetch()} />
        </main>
      ) : (
        <SessionSkeleton />
      )}
      <Toaster />
    </div>
  );
}

/** Prevents search engines from indexing the page. The server also sends a header for this purpose. */
function useNoIndex() {
  useEffect(() => {
    const meta = document.createElement("meta");
    meta.name = "robots";
    meta.content = "noindex";
    document.head.append(meta);
    return () => meta.remove();
  }, []);
}
