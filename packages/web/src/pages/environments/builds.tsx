import type { CloudEnvironment } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import clsx from "clsx";
import { Hammer } from "lucide-react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { Duration, Time } from "../../ui/time.tsx";
import { BuildState, isUnfinished } from "./build-state.tsx";
import { BuildView } from "./build-view.tsx";

interface BuildsProps {
  environment: CloudEnvironment;
  /** A build's id; without one the latest is shown. */
  chosen: string | undefined;
  isAdmin: boolean;
}

export function Builds({ environment, chosen, isAdmin }: BuildsProps) {
  const { environment_id, repos, setup_commands } = environment;
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
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows label="Loading builds" />;
  const hasContent = repos.length > 0 || setup_commands.length > 0;
  const shown = data.find(({ build_id }) => build_id === chosen) ?? data[0];
  const button = (
    <Button
      look="primary"
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
          <Problem error={building.error} />
        </div>
      )}
      {!shown ? (
        <Empty
          icon={<Hammer className="size-5" aria-hidden />}
          title={hasContent ? "Not built yet" : "Nothing to build"}
          action={hasContent ? button : undefined}
        >
          {hasContent
            ? "A build checks out the repositories and runs the setup commands. The first run makes one by itself; build now to have it ready, and to see that it works."
            : "Without repositories and setup commands there is nothing to prepare: runs start at once in an empty workspace."}
        </Empty>
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
