import { APIStatusError, AuthenticationError, type ListRunsParams } from "@outrider/sdk";
import { MutationCache, QueryCache, QueryClient, queryOptions } from "@tanstack/react-query";
import { outrider } from "./api.ts";

/** Where a signed-out reader signs in, and comes back to what was asked for. */
export function signInAddress({ pathname, search, hash }: Location = location): string {
  const next = pathname + search + hash;
  return next === "/" ? "/login" : `/login?next=${encodeURIComponent(next)}`;
}

export const queryClient: QueryClient = new QueryClient({
  mutationCache: new MutationCache({
    // Who is refused because something is stopped sees at once what it is.
    onError(error) {
      if (error instanceof APIStatusError && error.code === "resource_unavailable")
        void queryClient.invalidateQueries(queries.installation());
    },
  }),
  queryCache: new QueryCache({
    onError(error) {
      if (error instanceof AuthenticationError && location.pathname !== "/login")
        location.assign(signInAddress());
    },
  }),
  // The client has tried again already where that may help.
  defaultOptions: { queries: { retry: false, staleTime: 10_000 } },
});

/** Every question the pages ask, with the name that its answer is kept by. Writers invalidate by the same name. */
export const queries = {
  me: () => queryOptions({ queryKey: ["me"], queryFn: () => outrider.me.get(), staleTime: 60_000 }),
  /** Asked again and again while somebody looks: no try of it is worth a second. */
  installation: () =>
    queryOptions({
      queryKey: ["installation"],
      queryFn: () => outrider.installation.get({ maxRetries: 0 }),
    }),
  /** Of admins. */
  brake: () => queryOptions({ queryKey: ["installation", "brake"], queryFn: () => outrider.brake.get() }),
  /** A short list: one page, no more. */
  runs: (filter: ListRunsParams) =>
    queryOptions({
      queryKey: ["runs", "short", filter],
      queryFn: async () => (await outrider.runs.list(filter)).items,
    }),
  run: (runId: string) => queryOptions({ queryKey: ["run", runId], queryFn: () => outrider.runs.get(runId) }),
  followups: (runId: string) =>
    queryOptions({
      queryKey: ["run", runId, "followups"],
      queryFn: async () => (await outrider.followups.list(runId)).followups,
    }),
  diff: (runId: string) =>
    queryOptions({ queryKey: ["run", runId, "diff"], queryFn: () => outrider.runs.diff(runId) }),
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
  skills: () =>
    queryOptions({ queryKey: ["skills"], queryFn: async () => (await outrider.skills.list()).skills }),
  secrets: () =>
    queryOptions({ queryKey: ["secrets"], queryFn: async () => (await outrider.secrets.list()).secrets }),
  identities: () =>
    queryOptions({
      queryKey: ["identities"],
      queryFn: async () => (await outrider.identities.list()).identities,
    }),
  people: () =>
    queryOptions({ queryKey: ["people"], queryFn: async () => (await outrider.people.list()).people }),
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
  location.assign("/login");
}
