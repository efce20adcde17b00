import { type ListRunsParams, type ListRunsResponse, NotFoundError, type RunItem } from "@outrider/sdk";
import { type InfiniteData, onlineManager, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { outrider } from "../../api.ts";
import { useConnection } from "../../frame/connection.ts";
import { type RunChanges, useRunChanges } from "../../run-changes.ts";
import { filterOf, orderOf, type RunsSearch, type Sort } from "./search.ts";

/** The first page is small so that it loads quickly. */
const FIRST_PAGE = 100;
const NEXT_PAGE = 300;
const MAX_PAGE = 500;
/** Notifications report only state changes, so phases and costs have to be polled. */
const POLL_MS = 5_000;

interface RunsPage {
  runs: RunItem[];
  next: string | undefined;
  /** The number of all matching runs. Only the first page has it. */
  total?: ListRunsResponse["total"];
}
type RunsPages = InfiniteData<RunsPage, string | undefined>;

/**
 * Loads the table's rows page by page as the user scrolls. Loaded rows are updated in place. New runs are only counted
 * until the user asks to see them.
 */
export function useRuns(search: RunsSearch) {
  const client = useQueryClient();
  const { view: _, ...asked } = search;
  const searchKey = JSON.stringify(asked);
  // Navigating back shows the same rows at the same position, while a new visit loads the current runs.
  const visit = useLocation({ select: ({ state }) => state.__TSR_key });
  const key = useMemo(() => ["runs", "table", searchKey, visit], [searchKey, visit]);
  const filter = filterOf(search);
  const order = orderOf(search);
  const { isLost, lastContact } = useConnection();
  const cached = useCachedRows(searchKey, visit, isLost);
  const [newRuns, setNewRuns] = useState<ReadonlySet<string>>(new Set());
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }): Promise<RunsPage> => {
      const limit = pageParam === undefined ? FIRST_PAGE : NEXT_PAGE;
      const sorted = { sort_by: order.by, sort_order: order.order, limit };
      const cursor = pageParam === undefined ? { include_total: true } : { cursor: pageParam };
      const { body } = await outrider.runs.list({ ...filter, ...sorted, ...cursor }, { signal });
      return { runs: body.runs, next: body.page_info.next_cursor, ...(body.total && { total: body.total }) };
    },
    getNextPageParam: ({ next }) => next,
    // Change notifications keep the data current, and refetching all pages would move the rows.
    staleTime: Number.POSITIVE_INFINITY,
    // Without a connection, a new visit shows the rows of an earlier one.
    placeholderData: (previous) => cached?.data ?? previous,
  });
  const rows = useMemo(() => rowsOf(query.data), [query.data]);
  const isShown = query.data !== undefined && !query.isPlaceholderData;
  const isFromCache = isLost && query.isPlaceholderData && cached !== undefined;

  const change = useCallback(
    (fresh: Map<string, RunItem>, deleted: ReadonlySet<string> = new Set()) =>
      client.setQueryData<RunsPages>(key, (data) => data && replaced(data, fresh, deleted)),
    [client, key],
  );

  /** Loads the runs that changed since a given time. If the changed runs are known, only those are loaded. */
  async function loadChanges(since: string, ids?: string[]) {
    const ask = async (more: ListRunsParams) =>
      (await outrider.runs.list({ ...more, updated_after: since, sort_by: "updated_at", limit: MAX_PAGE }))
        .items;
    const known = new Set(rows.map(({ run_id }) => run_id));
    if (!ids || ids.some((id) => known.has(id))) change(byId(await ask({})));
    if (ids?.every((id) => known.has(id))) return;
    const last = query.hasNextPage ? rows.at(-1) : undefined;
    const isAbove = (run: RunItem) => {
      if (!last || order.by === "updated_at") return true;
      const [value, limit] = [sortValue(run, order.by), sortValue(last, order.by)];
      return order.order === "asc" ? value < limit : value > limit;
    };
    const others = (await ask(filter)).filter((run) => !known.has(run.run_id) && isAbove(run));
    if (others.length > 0)
      setNewRuns((before) => new Set([...before, ...others.map(({ run_id }) => run_id)]));
  }

  const reload = useCallback(() => {
    setNewRuns(new Set());
    return client.resetQueries({ queryKey: key });
  }, [client, key]);

  useRunChanges((event: RunChanges) => {
    if (!isShown) return;
    const changed = event.missed ? [] : event.changes;
    const since = changed.map(({ updated_at }) => updated_at).toSorted()[0] ?? newestOf(rows);
    // After a failure, the next notification or poll tries again.
    loadChanges(since, event.missed ? undefined : changed.map(({ run_id }) => run_id)).catch(() => {});
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once per visit, to update rows from the cache.
  useEffect(() => {
    setNewRuns(new Set());
    if (isShown) loadChanges(newestOf(rows)).catch(() => {});
  }, [key]);

  const active = rows.filter(({ state }) => state === "INPROGRESS" || state === "QUEUED");
  const refreshActive = async () => {
    const fresh = await outrider.runs.list({ state: ["INPROGRESS", "QUEUED"], limit: MAX_PAGE });
    const found = byId(fresh.items);
    const deleted = new Set<string>();
    const left = active.filter(({ run_id }) => !found.has(run_id)).slice(0, 20);
    await Promise.all(
      left.map(async ({ run_id }) => {
        try {
          found.set(run_id, await outrider.runs.get(run_id));
        } catch (error) {
          if (error instanceof NotFoundError) deleted.add(run_id);
        }
      }),
    );
    change(found, deleted);
  };
  useInterval(active.length > 0, refreshActive);

  const { isPending, error, isFetchingNextPage, fetchNextPage } = query;
  return {
    ...{ rows, isPending, error, isFetchingNextPage, fetchNextPage },
    hasNextPage: query.data?.pages.at(-1)?.next !== undefined,
    total: query.data?.pages[0]?.total,
    /** Whether the rows still belong to the previous search. */
    isStale: query.isPlaceholderData && !isFromCache,
    /** Without a connection, the time until which the rows were current. */
    staleSince: isFromCache ? cached.updatedAt : isLost && isShown ? lastContact : undefined,
    isLost,
    /** The number of new runs that are not shown yet. */
    newRunCount: newRuns.size,
    reload,
    change,
  };
}

/**
 * For a visit during which the connection is lost, returns the rows that an earlier visit with the same search has loaded,
 * and when they were last updated. They remain until the current rows are loaded.
 */
function useCachedRows(searchKey: string, visit: string | undefined, isLost: boolean) {
  const client = useQueryClient();
  const [lostVisit, setLostVisit] = useState<string>();
  if (isLost && lostVisit !== visit) setLostVisit(visit);
  return useMemo(() => {
    if (lostVisit !== visit) return undefined;
    const [latest] = client
      .getQueryCache()
      .findAll({ queryKey: ["runs", "table", searchKey] })
      .filter(({ state }) => state.data !== undefined)
      .toSorted((one, other) => other.state.dataUpdatedAt - one.state.dataUpdatedAt);
    if (!latest) return undefined;
    return { data: latest.state.data as RunsPages, updatedAt: latest.state.dataUpdatedAt };
  }, [client, searchKey, visit, lostVisit]);
}

/** Merges all pages and removes duplicates. A run that changed between two page requests can be on both pages. */
function rowsOf(data: Pick<RunsPages, "pages"> | undefined): RunItem[] {
  return [...byId(data?.pages.flatMap(({ runs }) => runs) ?? []).values()];
}

/** Returns the latest update time, which comes from the server's clock because the browser's clock may be wrong. */
function newestOf(rows: RunItem[]): string {
  return rows.reduce(
    (newest, { updated_at }) => (updated_at > newest ? updated_at : newest),
    "1970-01-01T00:00:00Z",
  );
}

function byId(runs: RunItem[]): Map<string, RunItem> {
  return new Map(runs.map((run) => [run.run_id, run]));
}

/** Replaces changed runs. Unchanged pages remain the same objects, so their rows are not rendered again. */
function replaced(data: RunsPages, fresh: Map<string, RunItem>, deleted: ReadonlySet<string>): RunsPages {
  const pages = data.pages.map((page) => {
    if (!page.runs.some(({ run_id }) => fresh.has(run_id) || deleted.has(run_id))) return page;
    const kept = page.runs.filter(({ run_id }) => !deleted.has(run_id));
    return { ...page, runs: kept.map((run) => fresh.get(run.run_id) ?? run) };
  });
  return { ...data, pages };
}

function useInterval(on: boolean, tick: () => Promise<void>) {
  const [latest] = useState({ tick });
  latest.tick = tick;
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => {
      // Requests to a server that does not respond would occupy the browser's few connections.
      if (!document.hidden && onlineManager.isOnline()) latest.tick().catch(() => {});
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [on, latest]);
}

function sortValue(run: RunItem, by: Sort): string | number {
  if (by === "cost") return run.usage.cost_usd;
  return by === "duration" ? run.usage.run_seconds : run[by];
}
