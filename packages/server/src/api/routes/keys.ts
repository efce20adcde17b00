import { createKey, revoke } from "../../engine/keys.ts";
import { isAdmin, requirePerson } from "../../engine/principal.ts";
import { listKeys } from "../../store/keys.ts";
import { gone, type Handlers, ok } from "../call.ts";

export const keyHandlers: Pick<Handlers, "listKeys" | "createKey" | "deleteKey"> = {
  async listKeys({ sql, principal }) {
    requirePerson(principal);
    return ok({ keys: await listKeys(sql, isAdmin(principal) ? undefined : principal.personUid) });
  },

  async createKey({ sql, principal, body }) {
    const { key, raw } = await createKey(sql, principal, body);
    return { status: 201, body: { ...key, key: raw }, replayBody: key };
  },

  async deleteKey({ sql, principal, params }) {
    await revoke(sql, principal, params.keyId);
    return gone;
  },
};
