import { type ListRunsParams, NotFoundError, type RunItem } from "@outrider/sdk";
import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { outrider } from "../../api.ts";
import { type Heard, useRunHints } from "../../hints.ts";
import { filterOf, orderOf, type RunsSearch } from "./search.ts";

/** The first page is soon there; who scrolls on wants many. */
const FIRST_PAGE = 100;
const NEXT_PAGE = 300;
const MOST = 500;
/** Phases and costs change without a hint, which tells of states alone. */
const LOOK_AGAIN_MS = 5_000;

interface Chunk {
  runs: RunItem[];
  next: string | undefined;
}
type Chunks = InfiniteData<Chunk>;

/**
 * The table's rows: page after page as the reader scrolls. Rows that are shown change in place; runs that have come
 * since are counted, and come in when the reader asks for them.
 */
export function useRuns(search: RunsSearch) {
  const client = useQueryClient();
  const asked = JSON.stringify(search);
  // Whoever comes back finds the same rows where they were; whoever comes anew finds what is there now.
  const visit = useLocation({ select: ({ state }) => state.__TSR_key });
  const key = useMemo(() => ["runs", "table", asked, visit], [asked, visit]);
  const filter = filterOf(search);
  const order = orderOf(search);
  const [unseen, setUnseen] = useState<ReadonlySet<string>>(new Set());
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }): Promise<Chunk> => {
      const limit = pageParam === undefined ? FIRST_PAGE : NEXT_PAGE;
      const sorted = { sort_by: order.by, sort_order: order.order, limit };
      const cursor = pageParam === undefined ? {} : { cursor: pageParam };
      const { body } = await outrider.runs.list({ ...filter, ...sorted, ...cursor }, { signal });
      return { runs: body.runs, next: body.page_info.next_cursor };
    },
    getNextPageParam: ({ next }) => next,
    // Hints keep it fresh; asking anew for all its pages would move what somebody is reading.
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
  const rows = useMemo(() => rowsOf(query.data), [query.data]);
  const isShown = query.data !== undefined && !query.isPlaceholderData;

  const change = useCallback(
    (fresh: Map<string, RunItem>, gone: ReadonlySet<string> = new Set()) =>
      client.setQueryData<Chunks>(key, (data) => data && replaced(data, fresh, gone)),
    [client, key],
  );

  /** Reads what has changed since: of which runs, where that is known. */
  async function take(since: string, ids?: string[]) {
    const ask = async (more: ListRunsParams) =>
      (await outrider.runs.list({ ...more, updated_after: since, sort_by: "updated_at", limit: MOST })).items;
    const known = new Set(rows.map(({ run_id }) => run_id));
    if (!ids || ids.some((id) => known.has(id))) change(byId(await ask({})));
    if (ids?.every((id) => known.has(id))) return;
    const last = query.hasNextPage ? rows.at(-1) : undefined;
    const isAbove = (run: RunItem) => {
      if (!last || order.by === "updated_at") return true;
      return order.order === "asc" ? run[order.by] < last[order.by] : run[order.by] > last[order.by];
    };
    const others = (await ask(filter)).filter((run) => !known.has(run.run_id) && isAbove(run));
    if (others.length > 0) setUnseen((before) => new Set([...before, ...others.map(({ run_id }) => run_id)]));
  }

  const renew = useCallback(() => {
    setUnseen(new Set());
    return client.resetQueries({ queryKey: key });
  }, [client, key]);

  useRunHints((heard: Heard) => {
    if (!isShown) return;
    const changed = heard.missed ? [] : heard.hints;
    const since = changed.map(({ updated_at }) => updated_at).toSorted()[0] ?? newestOf(rows);
    // What cannot be read now is read with the next hint or tick.
    take(since, heard.missed ? undefined : changed.map(({ run_id }) => run_id)).catch(() => {});
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each visit, where it begins with rows of before.
  useEffect(() => {
    setUnseen(new Set());
    if (isShown) take(newestOf(rows)).catch(() => {});
  }, [key]);

  const active = rows.filter(({ state }) => state === "INPROGRESS" || state === "QUEUED");
  const look = async () => {
    const fresh = await outrider.runs.list({ state: ["INPROGRESS", "QUEUED"], limit: MOST });
    const found = byId(fresh.items);
    const gone = new Set<string>();
    const left = active.filter(({ run_id }) => !found.has(run_id)).slice(0, 20);
    await Promise.all(
      left.map(async ({ run_id }) => {
        try {
          found.set(run_id, await outrider.runs.get(run_id));
        } catch (error) {
          if (error instanceof NotFoundError) gone.add(run_id);
        }
      }),
    );
    change(found, gone);
  };
  useTicks(active.length > 0, look);

  const { isPending, error, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  return {
    ...{ rows, isPending, error, hasNextPage, isFetchingNextPage, fetchNextPage },
    /** The rows are those of the question before, until the answer is there. */
    isOld: query.isPlaceholderData,
    /** How many runs have come that the rows do not show. */
    unseen: unseen.size,
    renew,
    change,
  };
}

/** A run that changed while pages were fetched may stand on two of them. */
function rowsOf(data: Chunks | undefined): RunItem[] {
  return [...byId(data?.pages.flatMap(({ runs }) => runs) ?? []).values()];
}

/** By the server's clock: the browser's may be wrong. */
function newestOf(rows: RunItem[]): string {
  return rows.reduce(
    (newest, { updated_at }) => (updated_at > newest ? updated_at : newest),
    "1970-01-01T00:00:00Z",
  );
}

function byId(runs: RunItem[]): Map<string, RunItem> {
  return new Map(runs.map((run) => [run.run_id, run]));
}

/** Pages that hold nothing new stay the same objects, so that their rows are not drawn anew. */
function replaced(data: Chunks, fresh: Map<string, RunItem>, gone: ReadonlySet<string>): Chunks {
  const pages = data.pages.map((page) => {
    if (!page.runs.some(({ run_id }) => fresh.has(run_id) || gone.has(run_id))) return page;
    const kept = page.runs.filter(({ run_id }) => !gone.has(run_id));
    return { ...page, runs: kept.map((run) => fresh.get(run.run_id) ?? run) };
  });
  return { ...data, pages };
}

function useTicks(on: boolean, tick: () => Promise<void>) {
  const [held] = useState({ tick });
  held.tick = tick;
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => {
      if (!document.hidden) held.tick().catch(() => {});
    }, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [on, held]);
}
