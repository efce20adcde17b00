import { isFinal } from "@outrider/contract/run-state";
import type { RunItem } from "@outrider/sdk";
import { Ellipsis, RotateCcw, Share2, Square, Trash2 } from "lucide-react";
import { lazy, Suspense } from "react";
import { loadPart } from "../../../frame/connection.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../../ui/overlay/menu.tsx";
import type { Steering } from "../steering.ts";
import { CopyItems } from "./copy-items.tsx";

const CancelDialog = lazy(() =>
  loadPart(() => import("./cancel-dialog.tsx")).then((it) => ({ default: it.CancelDialog })),
);
const DeleteDialog = lazy(() =>
  loadPart(() => import("./delete-dialog.tsx")).then((it) => ({ default: it.DeleteDialog })),
);
const ShareDialog = lazy(() =>
  loadPart(() => import("./share-dialog.tsx")).then((it) => ({ default: it.ShareDialog })),
);
const RerunDialog = lazy(() =>
  loadPart(() => import("./rerun-dialog.tsx")).then((it) => ({ default: it.RerunDialog })),
);

export type RunAction = "cancel" | "delete" | "share" | "rerun";

interface ActionsProps {
  run: RunItem;
  steering: Steering | undefined;
  open: RunAction | undefined;
  onOpen: (action: RunAction | undefined) => void;
}

/** Shows the run's actions. On phones, all except Cancel are in the menu. */
export function Actions({ run, steering, open, onOpen }: ActionsProps) {
  const isAllowed = steering?.isAllowed ?? false;
  const close = () => onOpen(undefined);
  const share = <Share2 className="size-4" aria-hidden />;
  const again = <RotateCcw className="size-4" aria-hidden />;
  return (
    <div className="flex shrink-0 items-center gap-2">
      {isAllowed && !isFinal(run.state) && (
        <Button
          variant="danger"
          icon={<Square className="size-3.5" aria-hidden />}
          onClick={() => onOpen("cancel")}
        >
          Cancel
        </Button>
      )}
      <Button className="max-sm:hidden" icon={again} onClick={() => onOpen("rerun")}>
        Re-run
      </Button>
      {isAllowed && (
        <Button className="max-sm:hidden" icon={share} onClick={() => onOpen("share")}>
          {run.share ? "Shared" : "Share"}
        </Button>
      )}
      <Menu
        trigger={
          <IconButton
            label="More actions"
            variant="plain"
            icon={<Ellipsis className="size-4" aria-hidden />}
          />
        }
      >
        <div className="sm:hidden">
          <MenuItem icon={again} onSelect={() => onOpen("rerun")}>
            Re-run
          </MenuItem>
          {isAllowed && (
            <MenuItem icon={share} onSelect={() => onOpen("share")}>
              Share
            </MenuItem>
          )}
          <MenuSeparator />
        </div>
        <CopyItems run={run} />
        {isAllowed && isFinal(run.state) && (
          <>
            <MenuSeparator />
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
