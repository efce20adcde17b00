import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";

export interface Steering {
  may: boolean;
  /** Why not, in words. */
  why?: string;
}

/** The server's rule, told before it has to refuse: people steer their own runs and their cloud agents', admins all. */
export function useSteering({ creator }: RunItem): Steering | undefined {
  const { data: me } = useQuery(queries.me());
  const isOwn = me && (me.role === "admin" || me.uid === creator.uid);
  const isAgents = creator.type === "service_account";
  const { data: agents } = useQuery({
    ...queries.identities(),
    enabled: isAgents && me !== undefined && !isOwn,
  });
  if (!me) return undefined;
  if (isOwn) return { may: true };
  if (isAgents && !agents) return undefined;
  if (agents?.some(({ uid, owner_uid }) => uid === creator.uid && owner_uid === me.uid)) return { may: true };
  const why = `This run belongs to ${creator.display_name}. Its creator or an admin may steer it; you can run it again as your own.`;
  return { may: false, why };
}
