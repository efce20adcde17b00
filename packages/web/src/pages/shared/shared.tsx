import { NotFoundError } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Unlink } from "lucide-react";
import { useEffect } from "react";
import { Announcer } from "../../shell/announcer.tsx";
import { Empty } from "../../ui/empty.tsx";
import { useTitle } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SessionSkeleton } from "../session/session-skeleton.tsx";
import { readShared } from "./shared-run.ts";
import { SharedView } from "./shared-view.tsx";

const route = getRouteApi("/shared/$token");

/** One run for whoever has the link: to read, and nothing else. */
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
  useTitle(first ? `${first.title} (shared)` : "A shared run");
  useNoIndex();
  if (error instanceof NotFoundError) {
    return (
      <main id="main">
        <Empty icon={<Unlink className="size-5" aria-hidden />} title="This link opens nothing">
          Its time is over, somebody ended it, or it is mistyped. Ask whoever sent it for a new one.
        </Empty>
      </main>
    );
  }
  if (first) {
    return (
      <>
        <SharedView key={token} token={token} run={first} tab={tab} onGone={() => void refetch()} />
        <Announcer />
      </>
    );
  }
  if (!error) return <SessionSkeleton />;
  return (
    <main id="main" className="mx-auto max-w-2xl p-6">
      <Problem error={error} onRetry={() => void refetch()} />
    </main>
  );
}

/** The server says so in a header; who keeps a copy of the page has it in there too. */
function useNoIndex() {
  useEffect(() => {
    const meta = document.createElement("meta");
    meta.name = "robots";
    meta.content = "noindex";
    document.head.append(meta);
    return () => meta.remove();
  }, []);
}
