import type { Key } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";

export interface Owners {
  nameOf(key: Key): string;
  /** True for the user's own keys and for the keys of the user's cloud agents. */
  isMine(key: Key): boolean;
}

/** Resolves key owners to names. Only admins can list users, but only they see other users' keys anyway. */
export function useOwners(): Owners {
  const { data: me } = useQuery(queries.me());
  const { data: agents = [] } = useQuery(queries.identities());
  const { data: users = [] } = useQuery({ ...queries.users(), enabled: me?.role === "admin" });
  return {
    nameOf({ owner_uid, type }) {
      if (owner_uid === me?.uid) return "You";
      if (type === "agent") return agents.find(({ uid }) => uid === owner_uid)?.name ?? "Cloud agent";
      return users.find(({ uid }) => uid === owner_uid)?.display_name ?? "Another user";
    },
    isMine: ({ owner_uid }) =>
      owner_uid === me?.uid || agents.some((agent) => agent.uid === owner_uid && agent.owner_uid === me?.uid),
  };
}
