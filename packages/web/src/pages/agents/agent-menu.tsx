import type { CloudAgent } from "@outrider/sdk";
import { useNavigate } from "@tanstack/react-router";
import { Copy, Ellipsis, KeyRound, Pencil, SquareTerminal, Trash2 } from "lucide-react";
import { IconButton } from "../../ui/button.tsx";
import { copy } from "../../ui/copy.tsx";
import { Menu, MenuItem, MenuLine } from "../../ui/menu.tsx";

interface AgentMenuProps {
  agent: CloudAgent;
  /** Its owner, or an administrator. */
  mayChange: boolean;
  onEdit: () => void;
  onDelete: () => void;
}

export function AgentMenu({ agent: { uid, name }, mayChange, onEdit, onDelete }: AgentMenuProps) {
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
        Its runs
      </MenuItem>
      <MenuItem icon={<Copy className="size-4" aria-hidden />} onSelect={() => void copy(uid, "Agent id")}>
        Copy id
      </MenuItem>
      {mayChange && (
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
          <MenuLine />
          <MenuItem danger icon={<Trash2 className="size-4" aria-hidden />} onSelect={onDelete}>
            Delete
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
