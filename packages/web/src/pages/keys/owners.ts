import type { Key } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";

export interface Owners {
  nameOf(key: Key): string;
  /** The reader's own, and those of the reader's cloud agents. */
  isMine(key: Key): boolean;
}

/** Keys name their owner by uid; this knows the names. Only admins may ask who the people are, and need to. */
export function useOwners(): Owners {
  const { data: me } = useQuery(queries.me());
  const { data: agents = [] } = useQuery(queries.identities());
  const { data: people = [] } = useQuery({ ...queries.people(), enabled: me?.role === "admin" });
  return {
    nameOf({ owner_uid, type }) {
      if (owner_uid === me?.uid) return "You";
      if (type === "agent") return agents.find(({ uid }) => uid === owner_uid)?.name ?? "A cloud agent";
      return people.find(({ uid }) => uid === owner_uid)?.display_name ?? "Somebody else";
    },
    isMine: ({ owner_uid }) =>
      owner_uid === me?.uid || agents.some((agent) => agent.uid === owner_uid && agent.owner_uid === me?.uid),
  };
}
