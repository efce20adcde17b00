import type { Identity } from "@outrider/sdk";
import { useNavigate } from "@tanstack/react-router";
import { Copy, Ellipsis, KeyRound, Pencil, SquareTerminal, Trash2 } from "lucide-react";
import { IconButton } from "../../ui/button.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../ui/overlay/menu.tsx";
import { copy } from "../../ui/text/copy.tsx";

interface AgentMenuProps {
  agent: Identity;
  /** True for the cloud agent's owner and for admins. */
  canEdit: boolean;
  onEdit: () => void;
  onDelete: () => void;
}

export function AgentMenu({ agent: { uid, name }, canEdit, onEdit, onDelete }: AgentMenuProps) {
  const navigate = useNavigate();
  return (
    <Menu
      trigger={
        <IconButton label={`Actions for ${name}`} icon={<Ellipsis className="size-4" aria-hidden />} />
      }
    >
      <MenuItem
        icon={<SquareTerminal className="size-4" aria-hidden />}
        onSelect={() => void navigate({ to: "/runs", search: { creator: uid } })}
      >
        View runs
      </MenuItem>
      <MenuItem icon={<Copy className="size-4" aria-hidden />} onSelect={() => void copy(uid, "Agent ID")}>
        Copy ID
      </MenuItem>
      {canEdit && (
        <>
          <MenuItem
            icon={<KeyRound className="size-4" aria-hidden />}
            onSelect={() => void navigate({ to: "/keys", search: { agent: uid } })}
          >
            New key
          </MenuItem>
          <MenuItem icon={<Pencil className="size-4" aria-hidden />} onSelect={onEdit}>
            Edit
          </MenuItem>
          <MenuSeparator />
          <MenuItem danger icon={<Trash2 className="size-4" aria-hidden />} onSelect={onDelete}>
            Delete
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
