import type { CloudEnvironment, UsageGroup } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Box, Plus } from "lucide-react";
import { queries } from "../../queries.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Sparkline } from "../../ui/charts/sparkline.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { Skeleton, SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { formatCount } from "../../ui/format/numbers.ts";
import { Time } from "../../ui/format/time.tsx";
import { NewRunLink } from "../../ui/new-run-link.tsx";
import { Page } from "../../ui/page.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { environmentUsageQuery } from "../insights/usage-queries.ts";
import { BuildState, isUnfinished } from "./builds/build-state.tsx";
import { networkLabel } from "./network.ts";
import { repositoryName } from "./repository.ts";

export function Environments() {
  const { data: me } = useQuery(queries.me());
  const { data, error, refetch } = useQuery({
    ...queries.environments(),
    refetchInterval: ({ state }) =>
      state.data?.some(({ build }) => build && isUnfinished(build)) ? 2_000 : false,
  });
  const { data: usage } = useQuery(environmentUsageQuery());
  const isAdmin = me?.role === "admin";
  const create = isAdmin && (
    <Link to="/environments/new" className={buttonClass("primary")}>
      <Plus className="size-4" aria-hidden />
      New environment
    </Link>
  );
  return (
    <Page
      title="Environments"
      lead="Repositories, setup, network and limits for runs. Each environment is built once, and every run gets its own copy."
      actions={data && data.length > 0 && create}
    >
      {error ? (
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows label="Loading environments" />
      ) : data.length === 0 ? (
        <EmptyState
          icon={<Box className="size-5" aria-hidden />}
          title="No environments yet"
          action={create || <NewRunLink />}
        >
          An environment contains the repositories that agents work on and the commands that prepare them,
          such as <code>npm ci</code>. Without one, a run starts in an empty workspace without network access.
          {!isAdmin && <p className="mt-2">Ask an admin to create one.</p>}
        </EmptyState>
      ) : (
        <Table
          label="Environments"
          head={
            <>
              <Th>Name</Th>
              <Th className="hidden md:table-cell">Repositories</Th>
              <Th className="hidden lg:table-cell">Network</Th>
              <Th>Build</Th>
              <Th className="hidden lg:table-cell">Last 30 days</Th>
              <Th className="hidden sm:table-cell">Updated</Th>
            </>
          }
        >
          {data.map((environment) => (
            <EnvironmentRow
              key={environment.environment_id}
              environment={environment}
              usage={usage?.groups?.find(({ key }) => key === environment.environment_id)}
              isLoading={!usage}
            />
          ))}
        </Table>
      )}
    </Page>
  );
}

interface EnvironmentRowProps {
  environment: CloudEnvironment;
  /** Undefined until it is known, or if the environment was not used. */
  usage: UsageGroup | undefined;
  isLoading: boolean;
}

function EnvironmentRow({ environment, usage, isLoading }: EnvironmentRowProps) {
  const {
    environment_id,
    name,
    description,
    docker_image,
    repos,
    setup_commands,
    network,
    build,
    updated_at,
  } = environment;
  const names = repos.map(repositoryName).join(", ");
  const needsBuild = docker_image !== undefined || repos.length > 0 || setup_commands.length > 0;
  return (
    <tr className="relative hover:bg-raised">
      <Td className="max-w-56 sm:max-w-xs">
        <Link
          to="/environments/$environmentId"
          params={{ environmentId: environment_id }}
          className="block truncate font-medium after:absolute after:inset-0"
        >
          {name}
        </Link>
        {description && <p className="truncate text-xs text-muted">{description}</p>}
        {names && <p className="truncate text-xs text-muted md:hidden">{names}</p>}
      </Td>
      <Td className="hidden max-w-xs truncate text-muted md:table-cell">{names || "None"}</Td>
      <Td className="hidden whitespace-nowrap text-muted lg:table-cell">{networkLabel(network)}</Td>
      <Td className="whitespace-nowrap">
        {build ? (
          <BuildState state={build.state} />
        ) : (
          <span className="text-muted">{needsBuild ? "Not built yet" : "Not needed"}</span>
        )}
      </Td>
      <Td className="hidden h-13 whitespace-nowrap lg:table-cell">
        {/* The width is fixed, so that no column moves when the usage arrives. */}
        <div className="flex h-6 w-44 items-center gap-3">
          {usage ? (
            <>
              <Sparkline values={usage.points.map(({ runs }) => runs)} color="var(--chart-1)" />
              <span className="text-xs text-muted tabular-nums">
                {formatCount(usage.runs)} {usage.runs === 1 ? "run" : "runs"}
              </span>
            </>
          ) : isLoading ? (
            <Skeleton className="h-5 w-24" />
          ) : (
            <span className="text-xs text-muted">No runs</span>
          )}
        </div>
      </Td>
      <Td className="hidden whitespace-nowrap text-muted sm:table-cell">
        <Time at={updated_at} />
      </Td>
    </tr>
  );
}
