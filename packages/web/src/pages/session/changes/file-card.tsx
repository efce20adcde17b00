import clsx from "clsx";
import { ChevronDown, ChevronRight } from "lucide-react";
import { memo, type ReactNode, useMemo } from "react";
import { Counts } from "../../../ui/diff/counts.tsx";
import { type Commenting, DiffLines, ROW_REM } from "../../../ui/diff/diff-lines.tsx";
import { type DiffLine, linesOf, type PatchFile } from "../../../ui/diff/patch.ts";
import type { DiffLayout } from "../../../ui/diff/rows.ts";
import { CopyButton } from "../../../ui/text/copy.tsx";
import { sanitize } from "../../../ui/text/sanitize.ts";
import { CommentEditor, ShownComment } from "./comment-editor.tsx";
import { type LineComments, placeOf } from "./line-comments.ts";

const kindLabels = { created: "new", modified: undefined, deleted: "deleted", renamed: "renamed" };

export interface FileActions {
  toggle: (file: PatchFile) => void;
  setViewed: (file: PatchFile, isViewed: boolean) => void;
  /** Opens the form for a comment on a line, or closes it. */
  edit: (place: string | undefined) => void;
}

interface FileCardProps {
  file: PatchFile;
  id: string;
  layout: DiffLayout;
  comments: LineComments | undefined;
  /** The line of this file that is being commented on. */
  edited: string | undefined;
  isOpen: boolean;
  isViewed: boolean;
  actions: FileActions;
}

/** Returns the height that a card probably has, so that cards out of view can be left out. */
export function cardRem(file: PatchFile, isOpen: boolean): number {
  return 3.375 + (isOpen ? Math.max(2, (linesOf(file) + file.hunks.length) * ROW_REM) : 0);
}

export const FileCard = memo(function FileCard(props: FileCardProps) {
  const { file, id, layout, comments, edited, isOpen, isViewed, actions } = props;
  const Icon = isOpen ? ChevronDown : ChevronRight;
  const label = kindLabels[file.kind];
  // One half of a new or deleted file would be empty.
  const fileLayout = file.kind === "created" || file.kind === "deleted" ? "unified" : layout;
  return (
    <article
      id={id}
      aria-label={sanitize(file.path)}
      className="mb-3 scroll-mt-2 overflow-clip rounded-lg border border-line bg-surface"
    >
      <header
        className={clsx(
          "sticky top-0 z-10 flex items-center gap-2 bg-raised pr-2",
          isOpen && "border-b border-line",
        )}
      >
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => actions.toggle(file)}
          className="flex min-h-10 min-w-0 flex-1 items-center gap-2 px-3 text-left -outline-offset-2"
        >
          <Icon className="size-4 shrink-0 text-muted" aria-hidden />
          <span className={clsx("min-w-0 break-all font-mono text-xs", isViewed && "text-muted")}>
            {file.from && <span className="text-muted">{sanitize(file.from)} → </span>}
            {sanitize(file.path)}
          </span>
          {label && <span className="shrink-0 rounded bg-surface px-1.5 text-xs text-muted">{label}</span>}
        </button>
        <Counts {...file} />
        <CopyButton text={file.path} what={`path ${file.path}`} />
        <label className="flex h-7 shrink-0 items-center gap-1.5 rounded-md px-1.5 text-xs text-muted hover:bg-pressed">
          <input
            type="checkbox"
            checked={isViewed}
            onChange={({ target }) => actions.setViewed(file, target.checked)}
            className="size-4 accent-accent"
          />
          <span className="max-sm:sr-only">Viewed</span>
        </label>
      </header>
      {isOpen &&
        (comments ? (
          <CommentedLines
            file={file}
            layout={fileLayout}
            comments={comments}
            edited={edited}
            onEdit={actions.edit}
          />
        ) : (
          <DiffLines file={file} layout={fileLayout} />
        ))}
    </article>
  );
});

interface CommentedLinesProps {
  file: PatchFile;
  layout: DiffLayout;
  comments: LineComments;
  edited: string | undefined;
  onEdit: (place: string | undefined) => void;
}

/** Shows the file's lines with the user's comments, and a form at the line that is being commented on. */
function CommentedLines({ file, layout, comments, edited, onEdit }: CommentedLinesProps) {
  const commenting = useMemo((): Commenting => {
    const below = (line: DiffLine): ReactNode => {
      const place = placeOf(file.path, line);
      const comment = comments.all.find((one) => one.place === place);
      if (place !== undefined && edited === place) {
        return (
          <CommentEditor
            initial={comment?.text ?? ""}
            onSave={(text) => {
              comments.save({ place, path: file.path, line, text });
              onEdit(undefined);
            }}
            onCancel={() => onEdit(undefined)}
          />
        );
      }
      return (
        comment && (
          <ShownComment
            text={comment.text}
            onEdit={() => onEdit(place)}
            onDelete={() => comments.remove(comment.place)}
          />
        )
      );
    };
    return {
      below,
      onComment: (line) => onEdit(placeOf(file.path, line)),
      isEdited: (line) => edited !== undefined && placeOf(file.path, line) === edited,
    };
  }, [file, comments, edited, onEdit]);
  return <DiffLines file={file} layout={layout} commenting={commenting} />;
}
