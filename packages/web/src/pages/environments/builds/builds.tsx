import type { CloudEnvironment } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import clsx from "clsx";
import { Hammer } from "lucide-react";
import { outrider } from "../../../api.ts";
import { queries, queryClient } from "../../../queries.ts";
import { Button } from "../../../ui/button.tsx";
import { EmptyState } from "../../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { Duration, Time } from "../../../ui/format/time.tsx";
import { NewRunLink } from "../../../ui/new-run-link.tsx";
import { BuildState, isUnfinished } from "./build-state.tsx";
import { BuildView } from "./build-view.tsx";

interface BuildsProps {
  environment: CloudEnvironment;
  /** The selected build's ID. If absent, the latest build is shown. */
  chosen: string | undefined;
  isAdmin: boolean;
}

export function Builds({ environment, chosen, isAdmin }: BuildsProps) {
  const { environment_id, docker_image, repos, setup_commands } = environment;
  const navigate = useNavigate();
  const { data, error, refetch } = useQuery({
    ...queries.builds(environment_id),
    refetchInterval: ({ state }) => (state.data?.some(isUnfinished) ? 1_000 : false),
  });
  const building = useMutation({
    mutationFn: () => outrider.builds.create(environment_id),
    onSuccess: async ({ build_id }) => {
      await queryClient.invalidateQueries({ queryKey: ["environments"] });
      await navigate({
        to: "/environments/$environmentId",
        params: { environmentId: environment_id },
        search: { tab: "builds", build: build_id },
      });
    },
  });
  if (error) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows label="Loading builds" />;
  const hasContent = docker_image !== undefined || repos.length > 0 || setup_commands.length > 0;
  const shown = data.find(({ build_id }) => build_id === chosen) ?? data[0];
  const button = (
    <Button
      variant="primary"
      icon={<Hammer className="size-4" aria-hidden />}
      busy={building.isPending}
      onClick={() => building.mutate()}
    >
      Build now
    </Button>
  );
  return (
    <>
      {building.error && (
        <div className="mb-4">
          <ErrorAlert error={building.error} />
        </div>
      )}
      {!shown ? (
        <EmptyState
          icon={<Hammer className="size-5" aria-hidden />}
          title={hasContent ? "Not built yet" : "Nothing to build"}
          action={hasContent ? button : <NewRunLink />}
        >
          {hasContent
            ? "A build checks out the repositories and runs the setup commands. The first run builds automatically. Build now to have it ready and to check that it works."
            : "This environment has no image, repositories or setup commands to prepare. Runs start in an empty workspace."}
        </EmptyState>
      ) : (
        <div className="grid items-start gap-4 lg:grid-cols-[16rem_minmax(0,1fr)]">
          <div className="flex flex-col gap-3">
            {hasContent && <div className="flex lg:*:flex-1">{button}</div>}
            <nav
              aria-label="Builds"
              className="max-h-52 overflow-y-auto rounded-xl border border-line bg-surface p-1 lg:max-h-[32rem]"
            >
              {data.map((build) => (
                <Link
                  key={build.build_id}
                  to="/environments/$environmentId"
                  params={{ environmentId: environment_id }}
                  search={{ tab: "builds", build: build.build_id }}
                  aria-current={build === shown ? "true" : undefined}
                  className={clsx(
                    "flex min-h-11 flex-wrap items-center gap-x-2 rounded-lg px-3 py-1.5 hover:bg-raised",
                    build === shown && "bg-raised",
                  )}
                >
                  <BuildState state={build.state} />
                  <span className="ml-auto text-xs text-muted">
                    <Time at={build.created_at} />
                  </span>
                  <span className="w-full text-xs text-muted">
                    version {build.version}
                    {build.started_at && (
                      <>
                        {" · "}
                        <Duration from={build.started_at} to={build.finished_at} />
                      </>
                    )}
                    {build.repositories?.[0] && ` · ${build.repositories[0].commit.slice(0, 8)}`}
                  </span>
                </Link>
              ))}
            </nav>
          </div>
          <BuildView key={shown.build_id} build={shown} isAdmin={isAdmin} />
        </div>
      )}
    </>
  );
}
