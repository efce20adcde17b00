import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";

/**
 * Returns a function that tells whether the user may cancel and delete a run: users control their own runs and those of
 * their cloud agents, and admins control all runs.
 */
export function useControlled(): (run: RunItem) => boolean {
  const { data: me } = useQuery(queries.me());
  const { data: agents = [] } = useQuery(queries.identities());
  if (!me) return () => false;
  if (me.role === "admin") return () => true;
  const own = new Set([
    me.uid,
    ...agents.filter(({ owner_uid }) => owner_uid === me.uid).map(({ uid }) => uid),
  ]);
  return ({ creator }) => own.has(creator.uid);
}
