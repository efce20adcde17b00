import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";

export interface Steering {
  isAllowed: boolean;
  /** The reason why the user may not control the run, if there is one. */
  reason?: string;
}

/**
 * Mirrors the server's rule: users control their own runs and those of their cloud agents, and admins control all runs.
 */
export function useSteering({ creator }: RunItem): Steering | undefined {
  const { data: me } = useQuery(queries.me());
  const isOwn = me && (me.role === "admin" || me.uid === creator.uid);
  const isAgents = creator.type === "service_account";
  const { data: agents } = useQuery({
    ...queries.identities(),
    enabled: isAgents && me !== undefined && !isOwn,
  });
  if (!me) return undefined;
  if (isOwn) return { isAllowed: true };
  if (isAgents && !agents) return undefined;
  if (agents?.some(({ uid, owner_uid }) => uid === creator.uid && owner_uid === me.uid))
    return { isAllowed: true };
  const reason = `This run belongs to ${creator.display_name}. Only its creator and admins can control it. You can re-run it as your own.`;
  return { isAllowed: false, reason };
}
