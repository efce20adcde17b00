import type { View } from "@outrider/sdk";
import { Ellipsis, Link2, Lock, Pencil, Trash2, Users } from "lucide-react";
import { IconButton } from "../../ui/button.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../ui/overlay/menu.tsx";
import { copy } from "../../ui/text/copy.tsx";
import { sanitizeLine } from "../../ui/text/sanitize.ts";

interface ViewMenuProps {
  view: View;
  canChange: boolean;
  onRename: () => void;
  onShare: () => void;
  onDelete: () => void;
}

/** Offers what can be done with the selected view. The link contains the filters, so it also works for others. */
export function ViewMenu({ view, canChange, onRename, onShare, onDelete }: ViewMenuProps) {
  const icon = "size-4";
  return (
    <Menu
      align="start"
      trigger={
        <IconButton
          small
          label={`Actions for view ${sanitizeLine(view.name)}`}
          icon={<Ellipsis className={icon} aria-hidden />}
        />
      }
    >
      <MenuItem
        icon={<Link2 className={icon} aria-hidden />}
        onSelect={() => void copy(location.href, "Link")}
      >
        Copy link
      </MenuItem>
      {canChange && (
        <>
          <MenuItem icon={<Pencil className={icon} aria-hidden />} onSelect={onRename}>
            Rename
          </MenuItem>
          <MenuItem
            icon={
              view.is_shared ? <Lock className={icon} aria-hidden /> : <Users className={icon} aria-hidden />
            }
            onSelect={onShare}
          >
            {view.is_shared ? "Make private" : "Share with everyone"}
          </MenuItem>
          <MenuSeparator />
          <MenuItem danger icon={<Trash2 className={icon} aria-hidden />} onSelect={onDelete}>
            Delete view
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
