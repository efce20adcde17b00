import type { CloudEnvironmentRequest } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { blankDraft, draftOf } from "./draft.ts";
import { EnvironmentForm } from "./environment-form.tsx";

const route = getRouteApi("/frame/environments/new");

/** Empty, or a copy of another that is changed before it is saved. */
export function NewEnvironment() {
  const { from } = route.useSearch();
  const { data, error, refetch } = useQuery({
    ...queries.environment(from ?? ""),
    enabled: from !== undefined,
  });
  return (
    <Page title="New environment">
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : from !== undefined && !data ? (
        <SkeletonRows label="Loading the environment to copy" />
      ) : (
        <NewForm start={data ? { ...draftOf(data), name: `${data.name} copy` } : blankDraft()} />
      )}
    </Page>
  );
}

function NewForm({ start }: { start: ReturnType<typeof blankDraft> }) {
  // What it began with stays, whatever the queries around it fetch again.
  const [first] = useState(start);
  const navigate = useNavigate();
  return (
    <EnvironmentForm
      start={first}
      action="Create environment"
      isNew
      save={(request: CloudEnvironmentRequest) => outrider.environments.create(request)}
      onSaved={({ environment_id, name }) => {
        void queryClient.invalidateQueries({ queryKey: ["environments"] });
        announce(`${name} is made`);
        void navigate({
          to: "/environments/$environmentId",
          params: { environmentId: environment_id },
          search: { tab: "builds" },
          replace: true,
        });
      }}
    />
  );
}
