import type { Forge } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { GitPullRequest, Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { loadPart } from "../../../frame/connection.ts";
import { queries } from "../../../queries.ts";
import { Button, buttonClass } from "../../../ui/button.tsx";
import { EmptyState } from "../../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { ForgeCard } from "./forge-card.tsx";
import { appPage, forgeLabels } from "./forge-labels.ts";

const ConnectForge = lazy(() =>
  loadPart(() => import("./connect-forge.tsx")).then((it) => ({ default: it.ConnectForge })),
);

/** Lets admins connect the forges at which runs push branches and open pull requests. */
export function Forges() {
  const { data, error, refetch } = useQuery(queries.forges());
  const [connecting, setConnecting] = useState<Forge["type"]>();
  if (error) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows label="Loading forges" />;
  const isEmpty = data.length === 0;
  const buttons = (
    <div className={clsx("flex flex-wrap gap-2", isEmpty && "justify-center")}>
      <a href={appPage({})} className={buttonClass(isEmpty ? "primary" : "plain")}>
        Create a GitHub App
      </a>
      {(Object.keys(forgeLabels) as Forge["type"][]).map((type) => (
        <Button key={type} icon={<Plus className="size-4" aria-hidden />} onClick={() => setConnecting(type)}>
          {type === "github" ? "GitHub with a token" : forgeLabels[type]}
        </Button>
      ))}
    </div>
  );
  return (
    <>
      {isEmpty ? (
        <EmptyState
          icon={<GitPullRequest className="size-5" aria-hidden />}
          title="No forge connected"
          action={buttons}
        >
          Connect GitHub, GitLab, Gitea or Forgejo to end runs with a pull request. Credentials stay on the
          server, and no sandbox can push by itself.
        </EmptyState>
      ) : (
        <>
          <p className="mb-4 text-muted">
            Runs push branches and open pull requests here, within the policy of each environment's
            repositories. Credentials stay on the server and never enter a sandbox.
          </p>
          <ul className="mb-6 flex flex-col gap-3">
            {data.map((forge) => (
              <ForgeCard key={forge.forge_id} forge={forge} onReconnect={() => setConnecting(forge.type)} />
            ))}
          </ul>
          <section aria-labelledby="connect-another" className="flex flex-col items-start gap-2">
            <h2 id="connect-another" className="font-semibold">
              Connect another
            </h2>
            {buttons}
          </section>
        </>
      )}
      <Suspense>
        {connecting && <ConnectForge type={connecting} onClose={() => setConnecting(undefined)} />}
      </Suspense>
    </>
  );
}
