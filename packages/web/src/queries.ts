import {
  APIConnectionError,
  APIStatusError,
  APITimeoutError,
  AuthenticationError,
  type ListAttentionQuery,
  type ListRunsParams,
} from "@outrider/sdk";
import {
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
  queryOptions,
} from "@tanstack/react-query";
import { outrider } from "./api.ts";
import { signInPathOfPage } from "./frame/sign-in-path.ts";
import { deleteDrafts } from "./frame/stored-setting.ts";

export const queryClient: QueryClient = new QueryClient({
  mutationCache: new MutationCache({
    // If maintenance mode rejects a request, the banner is refreshed at once.
    onError(error) {
      if (error instanceof APIStatusError && error.code === "resource_unavailable")
        void queryClient.invalidateQueries(queries.installation());
    },
  }),
  queryCache: new QueryCache({
    onError(error, query) {
      // The router itself opens the sign-in page if nobody is signed in at first.
      if (query.meta?.isGuard) return;
      // A user who left the page while a request waited for the connection must not find its error later.
      if (isUnreachable(0, error) && !query.isActive())
        query.setState({ status: query.state.data === undefined ? "pending" : "success", error: null });
      if (error instanceof AuthenticationError) openSignIn();
    },
  }),
  defaultOptions: {
    // The SDK client has already retried where that could help. If the server cannot be reached, a query that tries
    // again pauses until it can, and the page keeps what it shows.
    queries: { retry: isUnreachable, retryDelay: 500, staleTime: 10_000 },
    // Changes are not kept for later, because the user may have given up by then.
    mutations: { networkMode: "always" },
  },
});

let isLeaving = false;

/**
 * Opens the sign-in page because the session has ended. Only the first failed request does so: if the page has unsaved
 * changes, the browser asks whether to leave it, and must not ask again with every request that the page polls with.
 */
function openSignIn() {
  if (isLeaving || location.pathname === "/login") return;
  isLeaving = true;
  location.assign(signInPathOfPage({ ended: queryClient.getQueryData(queries.me().queryKey) !== undefined }));
}

export function isUnreachable(failures: number, error: Error): boolean {
  return failures < 3 && error instanceof APIConnectionError && !(error instanceof APITimeoutError);
}

/** Defines all of the app's queries and their cache keys. Mutations invalidate by the same keys. */
export const queries = {
  me: () => queryOptions({ queryKey: ["me"], queryFn: () => outrider.me.get(), staleTime: 60_000 }),
  /** This query is polled while the page is visible, so a failed request is not retried. */
  installation: () =>
    queryOptions({
      queryKey: ["installation"],
      queryFn: () => outrider.installation.get({ maxRetries: 0 }),
    }),
  /** Only admins may use this query. */
  maintenance: () =>
    queryOptions({ queryKey: ["installation", "maintenance"], queryFn: () => outrider.maintenance.get() }),
  /** Fetches a single page. */
  runs: (filter: ListRunsParams) =>
    queryOptions({
      queryKey: ["runs", "short", filter],
      queryFn: async () => (await outrider.runs.list(filter)).items,
    }),
  /** Shared by the pages, the badge in the navigation and notifications. */
  attention: (query: ListAttentionQuery) =>
    queryOptions({ queryKey: ["attention", query], queryFn: () => outrider.attention.list(query) }),
  views: () =>
    queryOptions({ queryKey: ["views"], queryFn: async () => (await outrider.views.list()).views }),
  templates: () =>
    queryOptions({
      queryKey: ["templates"],
      queryFn: async () => (await outrider.templates.list()).templates,
    }),
  run: (runId: string) => queryOptions({ queryKey: ["run", runId], queryFn: () => outrider.runs.get(runId) }),
  followups: (runId: string) =>
    queryOptions({
      queryKey: ["run", runId, "followups"],
      queryFn: async () => (await outrider.followups.list(runId)).followups,
    }),
  /** The version changes whenever the run saves its changes. Until then, the patch need not be fetched again. */
  diff: (runId: string, version: string) =>
    queryOptions({
      queryKey: ["diff", runId, version],
      queryFn: () => outrider.runs.diff(runId),
      placeholderData: keepPreviousData,
    }),
  publications: (runId: string) =>
    queryOptions({
      queryKey: ["run", runId, "publications"],
      queryFn: () => outrider.publications.list(runId),
    }),
  forges: () =>
    queryOptions({ queryKey: ["forges"], queryFn: async () => (await outrider.forges.list()).forges }),
  environments: () =>
    queryOptions({
      queryKey: ["environments"],
      queryFn: async () => (await outrider.environments.list()).environments,
    }),
  environment: (id: string) =>
    queryOptions({ queryKey: ["environments", id], queryFn: () => outrider.environments.get(id) }),
  builds: (id: string) =>
    queryOptions({
      queryKey: ["environments", id, "builds"],
      queryFn: async () => (await outrider.builds.list(id)).builds,
    }),
  models: () => queryOptions({ queryKey: ["models"], queryFn: () => outrider.models.list() }),
  modelProviders: () =>
    queryOptions({
      queryKey: ["model-providers"],
      queryFn: async () => (await outrider.modelProviders.list()).providers,
    }),
  modelSettings: () =>
    queryOptions({ queryKey: ["model-settings"], queryFn: () => outrider.modelSettings.get() }),
  harnesses: () =>
    queryOptions({
      queryKey: ["harnesses"],
      queryFn: async () => (await outrider.harnesses.list()).harnesses,
    }),
  skills: () =>
    queryOptions({ queryKey: ["skills"], queryFn: async () => (await outrider.skills.list()).skills }),
  secrets: () =>
    queryOptions({ queryKey: ["secrets"], queryFn: async () => (await outrider.secrets.list()).secrets }),
  identities: () =>
    queryOptions({
      queryKey: ["identities"],
      queryFn: async () => (await outrider.identities.list()).agents,
    }),
  users: () =>
    queryOptions({ queryKey: ["users"], queryFn: async () => (await outrider.users.list()).users }),
  keys: () => queryOptions({ queryKey: ["keys"], queryFn: async () => (await outrider.keys.list()).keys }),
  workers: () =>
    queryOptions({
      queryKey: ["workers"],
      queryFn: async () => (await outrider.workers.list()).workers,
      refetchInterval: 5_000,
    }),
};

export async function signOut() {
  await outrider.post("/auth/sign-out");
  queryClient.clear();
  deleteDrafts();
  location.assign("/login");
}
