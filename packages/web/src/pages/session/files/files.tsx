import type { RunItem } from "@outrider/sdk";
import { useQueries, useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { FolderTree, RefreshCw } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { IconButton } from "../../../ui/button.tsx";
import { EmptyState } from "../../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { TranscriptLink } from "../transcript-link.tsx";
import { FilePreview } from "./file-preview.tsx";
import { filesKey, folderQuery } from "./file-queries.ts";
import { FileTree } from "./file-tree.tsx";
import { type FolderState, joinPath, treeRows } from "./tree-rows.ts";

/** How often the open folders of a working run are read again. */
const REFRESH_MS = 5_000;

/** Shows the run's workspace: its sandbox while that is open, otherwise the files that were stored last. */
export function Files({ run }: { run: RunItem }) {
  const { run_id: runId, state } = run;
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<string>();
  const queryClient = useQueryClient();
  const isWorking = state === "INPROGRESS";
  const paths = useMemo(() => ["", ...expanded], [expanded]);
  const results = useQueries({
    queries: paths.map((path) => ({
      ...folderQuery(runId, path),
      refetchInterval: isWorking && REFRESH_MS,
    })),
  });
  const folders: ReadonlyMap<string, FolderState> = new Map(
    paths.map((path, index) => [path, results[index] ?? {}]),
  );
  const root = results[0];

  // A turn that has ended may have changed every file.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the files change with the state.
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: filesKey(runId) });
  }, [queryClient, runId, state]);

  // Most runs have one repository, whose files are what people look for.
  const only = root?.data?.entries.length === 1 ? root.data.entries[0] : undefined;
  const onlyFolder = only?.type === "folder" ? only.name : undefined;
  useEffect(() => {
    if (onlyFolder !== undefined) setExpanded((now) => new Set([...now, onlyFolder]));
  }, [onlyFolder]);

  if (run.removed?.files) {
    return (
      <EmptyState
        icon={<FolderTree className="size-5" aria-hidden />}
        title="The files were deleted"
        action={<TranscriptLink />}
      >
        The retention policy of this installation deleted the workspace. Artifacts and changes may still be
        available.
      </EmptyState>
    );
  }
  if (!root?.data) {
    if (root?.error) return <ErrorAlert error={root.error} onRetry={() => void root.refetch()} />;
    return (
      <>
        <SkeletonRows rows={8} label="Loading files" />
        {(root?.failureCount ?? 0) > 0 && (
          <p role="status" className="text-muted">
            A worker is opening the files of this run. This can take a minute.
          </p>
        )}
      </>
    );
  }
  const { data } = root;
  if (data.entries.length === 0) {
    return (
      <EmptyState
        icon={<FolderTree className="size-5" aria-hidden />}
        title="No files yet"
        action={<TranscriptLink />}
      >
        Files appear here when the environment is ready or the agent creates some.
      </EmptyState>
    );
  }

  const toggle = (path: string) => {
    const isOpen = expanded.has(path);
    const inside = (one: string) => one === path || one.startsWith(`${path}/`);
    setExpanded(new Set(isOpen ? [...expanded].filter((one) => !inside(one)) : [...expanded, path]));
  };
  const entryOf = (path: string) => {
    const slash = path.lastIndexOf("/");
    const folder = slash < 0 ? "" : path.slice(0, slash);
    return folders.get(folder)?.data?.entries.find((entry) => joinPath(folder, entry.name) === path);
  };
  return (
    <div className="flex h-full min-h-0 overflow-hidden rounded-lg border border-line bg-surface">
      <div
        className={clsx(
          "w-full min-w-0 flex-col md:flex md:w-72 md:shrink-0 md:border-r md:border-line lg:w-80",
          selected === undefined ? "flex" : "hidden",
        )}
      >
        <div className="flex items-center gap-2 border-b border-line px-3 py-1.5">
          <p className="min-w-0 flex-1 truncate text-xs text-muted">
            {data.source === "sandbox" ? "Current files in the sandbox" : "Files as they were stored last"}
          </p>
          <IconButton
            label="Refresh files"
            small
            icon={<RefreshCw className={clsx("size-3.5", root.isFetching && "animate-spin")} aria-hidden />}
            onClick={() => void queryClient.invalidateQueries({ queryKey: filesKey(runId) })}
          />
        </div>
        <div className="min-h-0 flex-1 overflow-y-auto px-1">
          <FileTree
            rows={treeRows(folders, expanded)}
            selected={selected}
            onSelect={setSelected}
            onToggle={toggle}
          />
        </div>
      </div>
      {selected === undefined ? (
        <div className="hidden flex-1 place-items-center p-6 text-muted md:grid">
          Select a file to see its content.
        </div>
      ) : (
        <FilePreview
          key={selected}
          runId={runId}
          path={selected}
          entry={entryOf(selected)}
          onClose={() => setSelected(undefined)}
        />
      )}
    </div>
  );
}
