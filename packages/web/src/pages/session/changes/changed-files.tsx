import { ChevronsDownUp, ChevronsUpDown, Download } from "lucide-react";
import { type ReactNode, useEffect, useId, useMemo, useState } from "react";
import { storedSetting } from "../../../frame/stored-setting.ts";
import { Button } from "../../../ui/button.tsx";
import { Counts } from "../../../ui/diff/counts.tsx";
import { linesOf, type PatchFile } from "../../../ui/diff/patch.ts";
import type { DiffLayout } from "../../../ui/diff/rows.ts";
import { Windowed } from "../../../ui/diff/windowed.tsx";
import { SegmentedControl } from "../../../ui/form/segmented-control.tsx";
import { formatCount } from "../../../ui/format/numbers.ts";
import { cardRem, type FileActions, FileCard } from "./file-card.tsx";
import { FileTree } from "./file-tree.tsx";
import type { LineComments } from "./line-comments.ts";
import { filesIn, treeOf } from "./tree.ts";
import { useViewedFiles } from "./viewed.ts";

/** Files are initially expanded up to this number of files and total number of lines. */
const OPEN_FILES = 20;
const OPEN_LINES = 1_500;
/** The number of files that appear and disappear together while the page scrolls. */
const GROUP = 10;

const layoutSetting = storedSetting("diff-layout");

function openAtFirst(files: readonly PatchFile[], isViewed: (path: string) => boolean): Set<string> {
  const open = new Set<string>();
  let left = OPEN_LINES;
  for (const file of files) {
    if (isViewed(file.path)) continue;
    left -= linesOf(file);
    if (open.size < OPEN_FILES && (left >= 0 || open.size === 0)) open.add(file.path);
  }
  return open;
}

interface ChangedFilesProps {
  runId: string;
  files: PatchFile[];
  onDownload: () => void;
  comments: LineComments | undefined;
}

/** Shows a run's changed files: a tree, and a card with the diff of each file. */
export function ChangedFiles({ runId, files: unordered, onDownload, comments }: ChangedFilesProps) {
  const id = useId();
  const files = useMemo(() => filesIn(treeOf(unordered)), [unordered]);
  const viewed = useViewedFiles(runId, files);
  const [open, setOpen] = useState<ReadonlySet<string>>(() => openAtFirst(files, viewed.has));
  const [layout, setLayout] = useState<DiffLayout>(() =>
    layoutSetting.read() === "split" ? "split" : "unified",
  );
  const [isSingle, setIsSingle] = useState(false);
  const [chosen, setChosen] = useState(files[0]?.path);
  // An object, so that selecting the same file again scrolls to it again.
  const [target, setTarget] = useState<{ path: string }>();
  const [edited, setEdited] = useState<string>();
  const selected = files.find(({ path }) => path === chosen) ?? files[0];
  const groups = useMemo(
    () => groupsOf(isSingle && selected ? [selected] : files),
    [files, isSingle, selected],
  );
  const { set: setViewed } = viewed;
  const actions = useMemo(
    (): FileActions => ({
      toggle: ({ path }) => setOpen((before) => withPath(before, path, !before.has(path))),
      setViewed: (file, isViewed) => {
        setViewed(file, isViewed);
        setOpen((before) => withPath(before, file.path, !isViewed));
      },
      edit: setEdited,
    }),
    [setViewed],
  );
  useEffect(() => {
    if (target) document.getElementById(`${id}${target.path}`)?.scrollIntoView({ block: "start" });
  }, [target, id]);
  const select = ({ path }: PatchFile) => {
    setChosen(path);
    setOpen(withPath(open, path, true));
    if (!isSingle) setTarget({ path });
  };
  const isAllOpen = files.every(({ path }) => open.has(path));
  return (
    <>
      <Toolbar files={files} viewedCount={viewed.count}>
        <span className="max-lg:hidden">
          <SegmentedControl
            label="Layout of diffs"
            value={layout}
            options={[
              { value: "unified", label: "Unified" },
              { value: "split", label: "Split" },
            ]}
            onChange={(next) => {
              setLayout(next);
              layoutSetting.write(next);
            }}
          />
        </span>
        {!isSingle && (
          <Button
            icon={
              isAllOpen ? (
                <ChevronsDownUp className="size-4" aria-hidden />
              ) : (
                <ChevronsUpDown className="size-4" aria-hidden />
              )
            }
            onClick={() => setOpen(new Set(isAllOpen ? [] : files.map(({ path }) => path)))}
          >
            {isAllOpen ? "Collapse all" : "Expand all"}
          </Button>
        )}
        <Button aria-pressed={isSingle} onClick={() => setIsSingle(!isSingle)}>
          {isSingle ? "Show all files" : "One file at a time"}
        </Button>
        <Button icon={<Download className="size-4" aria-hidden />} onClick={onDownload}>
          Download patch
        </Button>
      </Toolbar>
      <div className="gap-4 lg:grid lg:grid-cols-[17rem_minmax(0,1fr)]">
        <FileTree
          files={files}
          selected={isSingle ? selected : undefined}
          isViewed={viewed.has}
          onSelect={select}
        />
        <div className="min-w-0">
          {groups.map((group, index) => (
            <Windowed
              key={group[0]?.path}
              startsShown={index === 0}
              keeps={group.some(({ path }) => path === target?.path || edited?.startsWith(`${path}:`))}
              height={`${group.reduce((sum, file) => sum + cardRem(file, open.has(file.path)), 0)}rem`}
            >
              {() =>
                group.map((file) => (
                  <FileCard
                    key={file.path}
                    id={`${id}${file.path}`}
                    file={file}
                    layout={layout}
                    comments={comments}
                    edited={edited?.startsWith(`${file.path}:`) ? edited : undefined}
                    isOpen={isSingle || open.has(file.path)}
                    isViewed={viewed.has(file.path)}
                    actions={actions}
                  />
                ))
              }
            </Windowed>
          ))}
        </div>
      </div>
    </>
  );
}

function withPath(paths: ReadonlySet<string>, path: string, isIn: boolean): Set<string> {
  const next = new Set(paths);
  if (isIn) next.add(path);
  else next.delete(path);
  return next;
}

function groupsOf(files: readonly PatchFile[]): PatchFile[][] {
  return Array.from({ length: Math.ceil(files.length / GROUP) }, (_, index) =>
    files.slice(index * GROUP, (index + 1) * GROUP),
  );
}

interface ToolbarProps {
  files: readonly PatchFile[];
  viewedCount: number;
  children: ReactNode;
}

function Toolbar({ files, viewedCount, children }: ToolbarProps) {
  const sum = (member: "additions" | "deletions") => files.reduce((total, file) => total + file[member], 0);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 pb-3">
      <h2 className="font-medium">
        {formatCount(files.length)} {files.length === 1 ? "file" : "files"} changed
      </h2>
      <Counts additions={sum("additions")} deletions={sum("deletions")} />
      {viewedCount > 0 && (
        <span role="status" className="flex items-center gap-2 text-xs text-muted tabular-nums">
          <progress
            aria-hidden
            value={viewedCount}
            max={files.length}
            className="h-1.5 w-16 overflow-hidden rounded-full bg-pressed [&::-moz-progress-bar]:bg-good [&::-webkit-progress-bar]:bg-pressed [&::-webkit-progress-value]:bg-good"
          />
          {formatCount(viewedCount)} of {formatCount(files.length)} viewed
        </span>
      )}
      <span className="flex-1" />
      {children}
    </div>
  );
}
