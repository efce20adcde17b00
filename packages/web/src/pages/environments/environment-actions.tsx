import type { CloudEnvironment } from "@outrider/sdk";
import { Link, useNavigate } from "@tanstack/react-router";
import { Copy, Ellipsis, Play, Trash2 } from "lucide-react";
import { useState } from "react";
import { buttonClass, IconButton } from "../../ui/button.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../ui/overlay/menu.tsx";
import { copy } from "../../ui/text/copy.tsx";
import { DeleteEnvironment } from "./delete-environment.tsx";

interface EnvironmentActionsProps {
  environment: CloudEnvironment;
  isAdmin: boolean;
}

export function EnvironmentActions({ environment, isAdmin }: EnvironmentActionsProps) {
  const { environment_id } = environment;
  const navigate = useNavigate();
  const [isDeleting, setDeleting] = useState(false);
  return (
    <>
      <Link to="/" search={{ environment: environment_id }} className={buttonClass()}>
        <Play className="size-4" aria-hidden />
        New run
      </Link>
      <Menu trigger={<IconButton label="More actions" icon={<Ellipsis className="size-4" aria-hidden />} />}>
        <MenuItem
          icon={<Copy className="size-4" aria-hidden />}
          onSelect={() => void copy(environment_id, "Environment ID")}
        >
          Copy ID
        </MenuItem>
        {isAdmin && (
          <>
            <MenuItem
              icon={<Copy className="size-4" aria-hidden />}
              onSelect={() => void navigate({ to: "/environments/new", search: { from: environment_id } })}
            >
              Duplicate
            </MenuItem>
            <MenuSeparator />
            <MenuItem
              danger
              icon={<Trash2 className="size-4" aria-hidden />}
              onSelect={() => setDeleting(true)}
            >
              Delete
            </MenuItem>
          </>
        )}
      </Menu>
      {isDeleting && <DeleteEnvironment environment={environment} onClose={() => setDeleting(false)} />}
    </>
  );
}
