import { createKey, revoke } from "../../engine/auth/keys.ts";
import { isAdmin, requireUser } from "../../engine/auth/principal.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { listKeys } from "../../store/auth/keys.ts";
import { type Handlers, noContent, ok } from "../pipeline/call.ts";

export const keyHandlers: Pick<Handlers, "listKeys" | "createKey" | "deleteKey"> = {
  async listKeys({ sql, principal }) {
    requireUser(principal);
    return ok({ keys: await listKeys(sql, isAdmin(principal) ? undefined : principal.userUid) });
  },

  async createKey({ sql, principal, body }) {
    const { key, raw } = await createKey(sql, principal, body);
    return { status: 201, body: { ...key, key: raw }, replayBody: key };
  },

  async deleteKey({ sql, principal, params, publish }) {
    await revoke(sql, principal, params.keyId);
    publish(topics.keys);
    return noContent;
  },
};
