import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { CircleCheck, ExternalLink } from "lucide-react";
import { outrider } from "../../../api.ts";
import { queries, queryClient } from "../../../queries.ts";
import { buttonClass } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { Page, Section } from "../../../ui/page.tsx";
import { appPage, manifestOf } from "./forge-labels.ts";

const route = getRouteApi("/frame/settings/forges/github-app");

/** Completes the creation of a GitHub App, to which GitHub redirects the browser. The code works only once. */
export function CreatedGitHubApp() {
  const { code, state } = route.useSearch();
  const manifestId = manifestOf(state);
  const { data: forge, error } = useQuery({
    queryKey: ["app-manifest", state],
    queryFn: async () => {
      const created = await outrider.forges.completeAppManifest(
        manifestId ?? "",
        { code, state },
        { maxRetries: 0 },
      );
      void queryClient.invalidateQueries(queries.forges());
      return created;
    },
    enabled: code !== "" && manifestId !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnReconnect: false,
    refetchOnWindowFocus: false,
  });
  const again = (
    <a href={appPage({})} className={buttonClass()}>
      Start again
    </a>
  );
  if (code === "" || manifestId === undefined) {
    return (
      <Page title="GitHub App">
        <p className="mb-4">GitHub did not return the data that is needed to finish. Start again.</p>
        {again}
      </Page>
    );
  }
  if (error) {
    return (
      <Page title="GitHub App">
        <div className="mb-4">
          <ErrorAlert error={error} />
        </div>
        {again}
      </Page>
    );
  }
  if (!forge) {
    return (
      <Page title="GitHub App">
        <SkeletonRows rows={3} label="Creating the app" />
      </Page>
    );
  }
  return (
    <Page title="GitHub App">
      <Section title="One step left: install the app">
        <p className="mb-3 flex items-center gap-2">
          <CircleCheck className="size-4 text-good" aria-hidden />
          {forge.login} was created at {forge.host}.
        </p>
        <p className="mb-4 text-muted">
          Install it in your organization or account, and choose the repositories that runs may publish to.
        </p>
        <div className="flex flex-wrap gap-2">
          {forge.install_url && (
            <a
              href={forge.install_url}
              target="_blank"
              rel="noopener noreferrer"
              className={buttonClass("primary")}
            >
              <ExternalLink className="size-4" aria-hidden />
              Install the app
            </a>
          )}
          <Link to="/settings" search={{ section: "forges" }} className={buttonClass()}>
            Forges
          </Link>
        </div>
      </Section>
    </Page>
  );
}
