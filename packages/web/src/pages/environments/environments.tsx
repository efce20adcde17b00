import type { CloudEnvironment } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Box, Plus } from "lucide-react";
import { queries } from "../../queries.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { BuildState, isUnfinished } from "./build-state.tsx";
import { networkWords } from "./network.ts";
import { repositoryName } from "./repository.ts";

export function Environments() {
  const { data: me } = useQuery(queries.me());
  const { data, error, refetch } = useQuery({
    ...queries.environments(),
    refetchInterval: ({ state }) =>
      state.data?.some(({ build }) => build && isUnfinished(build)) ? 2_000 : false,
  });
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
      lead="Where runs execute: repositories, setup, network and limits. Each is built once; every run gets a copy of its own."
      actions={data && data.length > 0 && create}
    >
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows label="Loading environments" />
      ) : data.length === 0 ? (
        <Empty
          icon={<Box className="size-5" aria-hidden />}
          title="No environments yet"
          action={create || undefined}
        >
          An environment holds the repositories that agents work on and the commands that make them ready,
          such as <code>npm ci</code>. Without one, a run begins in an empty workspace without network.
          {!isAdmin && <p className="mt-2">An administrator can make one.</p>}
        </Empty>
      ) : (
        <Table
          label="Environments"
          head={
            <>
              <Th>Name</Th>
              <Th className="hidden md:table-cell">Repositories</Th>
              <Th className="hidden lg:table-cell">Network</Th>
              <Th>Build</Th>
              <Th className="hidden sm:table-cell">Updated</Th>
            </>
          }
        >
          {data.map((environment) => (
            <EnvironmentRow key={environment.environment_id} environment={environment} />
          ))}
        </Table>
      )}
    </Page>
  );
}

function EnvironmentRow({ environment }: { environment: CloudEnvironment }) {
  const { environment_id, name, description, repos, setup_commands, network, build, updated_at } =
    environment;
  const names = repos.map(repositoryName).join(", ");
  const needsBuild = repos.length > 0 || setup_commands.length > 0;
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
      <Td className="hidden max-w-xs truncate text-muted md:table-cell">{names || "none"}</Td>
      <Td className="hidden whitespace-nowrap text-muted lg:table-cell">{networkWords(network)}</Td>
      <Td className="whitespace-nowrap">
        {build ? (
          <BuildState state={build.state} />
        ) : (
          <span className="text-muted">{needsBuild ? "Not built yet" : "Needs none"}</span>
        )}
      </Td>
      <Td className="hidden whitespace-nowrap text-muted sm:table-cell">
        <Time at={updated_at} />
      </Td>
    </tr>
  );
}
