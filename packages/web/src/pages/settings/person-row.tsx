import type { Person, Role } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { Ellipsis, Link2, UserMinus } from "lucide-react";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";
import { wordsOf } from "../../trouble.ts";
import { Badge } from "../../ui/badge.tsx";
import { IconButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Select } from "../../ui/field.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Td } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import type { HandedLink } from "./link-once.tsx";

interface PersonRowProps {
  person: Person;
  isYou: boolean;
  onLink: (link: HandedLink) => void;
}

const refresh = () => queryClient.invalidateQueries(queries.people());
const complain = (error: unknown) => announce(wordsOf(error).detail, "bad");

export function PersonRow({ person, isYou, onLink }: PersonRowProps) {
  const { uid, display_name, email, role, last_seen_at } = person;
  const [isLeaving, setLeaving] = useState(false);
  const change = useMutation({
    mutationFn: (role: Role) => outrider.people.update(uid, { role }),
    async onSuccess({ role }) {
      await refresh();
      announce(`${display_name} is ${role === "admin" ? "an admin" : "a member"} now`);
    },
    onError: complain,
  });
  const relink = useMutation({
    mutationFn: () => outrider.people.link(uid),
    onSuccess: (made) => onLink({ ...made, display_name }),
    onError: complain,
  });
  const remove = useMutation({
    mutationFn: () => outrider.people.delete(uid),
    async onSuccess() {
      await refresh();
      announce(`${display_name} is removed`);
      setLeaving(false);
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
          className="w-auto"
          // Nobody locks themselves out: another admin has to do it.
          disabled={isYou || change.isPending}
          title={isYou ? "Another admin can change your role." : undefined}
          value={change.isPending ? change.variables : role}
          onChange={({ target }) => change.mutate(target.value as Role)}
        >
          <option value="admin">Admin</option>
          <option value="member">Member</option>
        </Select>
      </Td>
      <Td className="whitespace-nowrap text-muted max-sm:hidden">
        {last_seen_at ? <Time at={last_seen_at} /> : "Not yet"}
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
            onSelect={() => setLeaving(true)}
          >
            Remove
          </MenuItem>
        </Menu>
        {isLeaving && (
          <Confirm
            title={`Remove ${display_name}?`}
            action="Remove"
            busy={remove.isPending}
            error={remove.error}
            onConfirm={() => remove.mutate()}
            onClose={() => setLeaving(false)}
          >
            <p>
              They are signed out everywhere, and their keys and those of their cloud agents are revoked at
              once. Their runs stay. This cannot be undone.
            </p>
          </Confirm>
        )}
      </Td>
    </tr>
  );
}
