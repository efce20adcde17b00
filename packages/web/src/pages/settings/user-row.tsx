import type { Role, User } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { Ellipsis, Link2, UserMinus } from "lucide-react";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";
import { describeError } from "../../request-error.ts";
import { Badge } from "../../ui/badge.tsx";
import { IconButton } from "../../ui/button.tsx";
import { Select } from "../../ui/form/field.tsx";
import { Time } from "../../ui/format/time.tsx";
import { Confirm } from "../../ui/overlay/confirm.tsx";
import { Menu, MenuItem } from "../../ui/overlay/menu.tsx";
import { Td } from "../../ui/table.tsx";
import { roleLabels } from "./role-labels.ts";
import type { CreatedLink } from "./sign-in-link.tsx";

interface UserRowProps {
  user: User;
  isYou: boolean;
  onLink: (link: CreatedLink) => void;
}

const refresh = () => queryClient.invalidateQueries(queries.users());
const showError = (error: unknown) => showToast(describeError(error).detail, "bad");

export function UserRow({ user, isYou, onLink }: UserRowProps) {
  const { uid, display_name, email, role, last_seen_at } = user;
  const [isRemoving, setRemoving] = useState(false);
  const change = useMutation({
    mutationFn: (role: Role) => outrider.users.update(uid, { role }),
    async onSuccess({ role }) {
      await refresh();
      showToast(`${display_name} is now ${role === "admin" ? "an admin" : "a member"}`);
    },
    onError: showError,
  });
  const relink = useMutation({
    mutationFn: () => outrider.users.link(uid),
    onSuccess: (made) => onLink({ ...made, display_name }),
    onError: showError,
  });
  const remove = useMutation({
    mutationFn: () => outrider.users.delete(uid),
    async onSuccess() {
      await refresh();
      showToast("User removed");
      setRemoving(false);
    },
  });
  return (
    <tr>
      <Td>
        <div className="flex flex-wrap items-center gap-2">
          <span className="font-medium break-words">{display_name}</span>
          {isYou && <Badge>You</Badge>}
          {!last_seen_at && !isYou && <Badge tone="warn">Invited</Badge>}
        </div>
        <div className="text-xs break-all text-muted">{email}</div>
      </Td>
      <Td>
        <Select
          aria-label={`Role of ${display_name}`}
          className="w-auto min-w-28"
          // Admins cannot demote themselves, because they could lock themselves out.
          disabled={isYou || change.isPending}
          title={isYou ? "Another admin can change your role." : undefined}
          value={change.isPending ? change.variables : role}
          onChange={({ target }) => change.mutate(target.value as Role)}
        >
          {Object.entries(roleLabels).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </Td>
      <Td className="whitespace-nowrap text-muted max-sm:hidden">
        {last_seen_at ? <Time at={last_seen_at} /> : "Never"}
      </Td>
      <Td className="text-right">
        <Menu
          trigger={
            <IconButton
              label={`Actions for ${display_name}`}
              icon={<Ellipsis className="size-4" aria-hidden />}
            />
          }
        >
          <MenuItem icon={<Link2 className="size-4" aria-hidden />} onSelect={() => relink.mutate()}>
            New sign-in link
          </MenuItem>
          <MenuItem
            danger
            disabled={isYou}
            icon={<UserMinus className="size-4" aria-hidden />}
            onSelect={() => setRemoving(true)}
          >
            Remove
          </MenuItem>
        </Menu>
        {isRemoving && (
          <Confirm
            title={`Remove ${display_name}?`}
            action="Remove user"
            busy={remove.isPending}
            error={remove.error}
            onConfirm={() => remove.mutate()}
            onClose={() => setRemoving(false)}
          >
            <p>
              This signs them out everywhere and revokes their keys and those of their cloud agents. Their
              runs are kept. This cannot be undone.
            </p>
          </Confirm>
        )}
      </Td>
    </tr>
  );
}
