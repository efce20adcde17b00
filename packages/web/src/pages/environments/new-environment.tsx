import type { CloudEnvironmentRequest } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Page } from "../../ui/page.tsx";
import { EnvironmentForm } from "./form/environment-form.tsx";
import { blankValues, type Values, valuesOf } from "./form/values.ts";

const route = getRouteApi("/frame/environments/new");

/** Shows the form for a new environment, either empty or prefilled from the environment to duplicate. */
export function NewEnvironment() {
  const { from } = route.useSearch();
  const { data, error, refetch } = useQuery({
    ...queries.environment(from ?? ""),
    enabled: from !== undefined,
  });
  return (
    <Page title="New environment">
      {error ? (
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : from !== undefined && !data ? (
        <SkeletonRows label="Loading environment" />
      ) : (
        <NewForm start={data ? { ...valuesOf(data), name: `${data.name} copy` } : blankValues} />
      )}
    </Page>
  );
}

function NewForm({ start }: { start: Values }) {
  // The state preserves the initial values when the query refetches.
  const [first] = useState(start);
  const navigate = useNavigate();
  return (
    <EnvironmentForm
      start={first}
      action="Create environment"
      isNew
      save={(request: CloudEnvironmentRequest) => outrider.environments.create(request)}
      onSaved={({ environment_id }) => {
        void queryClient.invalidateQueries({ queryKey: ["environments"] });
        showToast("Environment created");
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
