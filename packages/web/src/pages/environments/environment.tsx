import type { CloudEnvironment } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { queries } from "../../queries.ts";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Page } from "../../ui/page.tsx";
import { Builds } from "./builds/builds.tsx";
import { Configuration } from "./configuration.tsx";
import { EnvironmentActions } from "./environment-actions.tsx";
import { EnvironmentDetails } from "./environment-details.tsx";
import { TestRun } from "./test-run/test-run.tsx";

const route = getRouteApi("/frame/environments/$environmentId");

export function Environment() {
  const { environmentId } = route.useParams();
  const { data: me } = useQuery(queries.me());
  const { data, error, refetch } = useQuery(queries.environment(environmentId));
  if (error || !data || !me) {
    return (
      <Page title="Environment">
        {error ? (
          <ErrorAlert error={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows rows={8} label="Loading environment" />
        )}
      </Page>
    );
  }
  return <EnvironmentTabs key={environmentId} environment={data} isAdmin={me.role === "admin"} />;
}

const tabs = [
  { tab: undefined, label: "Configuration" },
  { tab: "builds", label: "Builds" },
  { tab: "test", label: "Test run" },
] as const;

function EnvironmentTabs({ environment, isAdmin }: { environment: CloudEnvironment; isAdmin: boolean }) {
  const { environment_id, name, description } = environment;
  const { tab, build, run } = route.useSearch();
  const [isDirty, setDirty] = useState(false);
  return (
    <Page
      title={name}
      lead={description}
      actions={<EnvironmentActions environment={environment} isAdmin={isAdmin} />}
    >
      <nav aria-label="Environment sections" className="mb-4 flex gap-4 border-b border-line">
        {tabs.map(({ tab: target, label }) => (
          <Link
            key={label}
            to="/environments/$environmentId"
            params={{ environmentId: environment_id }}
            search={target ? { tab: target } : {}}
            activeOptions={{ exact: true }}
            aria-current={tab === target ? "page" : undefined}
            className="-mb-px flex h-10 items-center border-b-2 border-transparent text-muted hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-ink"
          >
            {label}
            {target === undefined && isDirty && (
              <span className="ml-1.5 text-warn" title="Unsaved changes">
                ●<span className="sr-only"> unsaved changes</span>
              </span>
            )}
          </Link>
        ))}
      </nav>
      {/* The form remains mounted so that unsaved changes survive a switch to another tab. */}
      <div hidden={tab !== undefined}>
        {isAdmin ? (
          <Configuration environment={environment} isDirty={isDirty} onDirty={setDirty} />
        ) : (
          <EnvironmentDetails environment={environment} />
        )}
      </div>
      {tab === "builds" && <Builds environment={environment} chosen={build} isAdmin={isAdmin} />}
      {tab === "test" && <TestRun environment={environment} runId={run} isDirty={isDirty} />}
    </Page>
  );
}
