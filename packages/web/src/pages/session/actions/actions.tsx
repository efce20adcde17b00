import type { RunItem } from "@outrider/sdk";
import { Ellipsis, RotateCcw, Share2, Square, Trash2 } from "lucide-react";
import { lazy, Suspense } from "react";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Menu, MenuItem, MenuLine } from "../../../ui/menu.tsx";
import type { Steering } from "../steering.ts";
import { CopyItems } from "./copy-items.tsx";

const CancelDialog = lazy(() => import("./cancel-dialog.tsx").then((it) => ({ default: it.CancelDialog })));
const DeleteDialog = lazy(() => import("./delete-dialog.tsx").then((it) => ({ default: it.DeleteDialog })));
const ShareDialog = lazy(() => import("./share-dialog.tsx").then((it) => ({ default: it.ShareDialog })));
const RerunDialog = lazy(() => import("./rerun-dialog.tsx").then((it) => ({ default: it.RerunDialog })));

export type RunAction = "cancel" | "delete" | "share" | "rerun";

interface ActionsProps {
  run: RunItem;
  steering: Steering | undefined;
  open: RunAction | undefined;
  onOpen: (action: RunAction | undefined) => void;
}

export function isOver({ state }: Pick<RunItem, "state">): boolean {
  return state === "SUCCEEDED" || state === "FAILED" || state === "CANCELLED";
}

/** What can be done with the run as a whole. On a phone all but Cancel is in the menu. */
export function Actions({ run, steering, open, onOpen }: ActionsProps) {
  const may = steering?.may ?? false;
  const close = () => onOpen(undefined);
  const share = <Share2 className="size-4" aria-hidden />;
  const again = <RotateCcw className="size-4" aria-hidden />;
  return (
    <div className="flex shrink-0 items-center gap-2">
      {may && !isOver(run) && (
        <Button
          look="danger"
          icon={<Square className="size-3.5" aria-hidden />}
          onClick={() => onOpen("cancel")}
        >
          Cancel
        </Button>
      )}
      <Button className="max-sm:hidden" icon={again} onClick={() => onOpen("rerun")}>
        Re-run
      </Button>
      {may && (
        <Button className="max-sm:hidden" icon={share} onClick={() => onOpen("share")}>
          {run.share ? "Shared" : "Share"}
        </Button>
      )}
      <Menu
        trigger={
          <IconButton label="More actions" look="plain" icon={<Ellipsis className="size-4" aria-hidden />} />
        }
      >
        <div className="sm:hidden">
          <MenuItem icon={again} onSelect={() => onOpen("rerun")}>
            Re-run with changes
          </MenuItem>
          {may && (
            <MenuItem icon={share} onSelect={() => onOpen("share")}>
              Share
            </MenuItem>
          )}
          <MenuLine />
        </div>
        <CopyItems run={run} />
        {may && isOver(run) && (
          <>
            <MenuLine />
            <MenuItem
              danger
              icon={<Trash2 className="size-4" aria-hidden />}
              onSelect={() => onOpen("delete")}
            >
              Delete
            </MenuItem>
          </>
        )}
      </Menu>
      <Suspense>
        {open === "cancel" && <CancelDialog run={run} onClose={close} />}
        {open === "delete" && <DeleteDialog run={run} onClose={close} />}
        {open === "share" && <ShareDialog run={run} onClose={close} />}
        {open === "rerun" && <RerunDialog run={run} onClose={close} />}
      </Suspense>
    </div>
  );
}
