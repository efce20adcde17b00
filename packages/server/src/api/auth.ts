import type { FastifyRequest } from "fastify";
import { hashKey } from "../engine/keys.ts";
import { type Principal, principalOf } from "../engine/principal.ts";
import { Refusal } from "../engine/refusal.ts";
import type { Db } from "../store/db.ts";
import { findKeyOwner, type KeyOwner, noteKeyUse } from "../store/keys.ts";

const NOTE_USE_MS = 10_000;

export interface Authenticator {
  authenticate(request: FastifyRequest): Promise<Principal>;
  close(): Promise<void>;
}

/** Asks the database each time, so that a revocation holds from the next request on, on every server. */
export function createAuthenticator(db: Db): Authenticator {
  const used = new Set<string>();
  // When a key was last used is worth knowing to within seconds, not a write for each request.
  const flush = async () => {
    const keyIds = [...used];
    used.clear();
    if (keyIds.length > 0) await noteKeyUse(db, keyIds).catch(() => {});
  };
  const ticker = setInterval(flush, NOTE_USE_MS);
  // Requests that are read in the same moment share one question, which is asked after all of them have come.
  const asking = new Map<string, Promise<KeyOwner | undefined>>();
  const ownerOf = (hash: Buffer): Promise<KeyOwner | undefined> => {
    const name = hash.toString("base64");
    const asked = asking.get(name);
    if (asked) return asked;
    const moment = new Promise<void>((resolve) => setImmediate(resolve));
    const owner = moment.then(() => {
      asking.delete(name);
      return findKeyOwner(db, hash);
    });
    asking.set(name, owner);
    return owner;
  };
  return {
    async authenticate(request) {
      const [authorization, ...more] = request.raw.headersDistinct.authorization ?? [];
      if (!authorization) throw new Refusal("authentication_required", "Send `Authorization: Bearer KEY`.");
      if (more.length > 0)
        throw new Refusal("authentication_required", "Send one `Authorization` header, not several.");
      const raw = /^Bearer +([!-~]+) *$/i.exec(authorization)?.[1];
      const hash = raw === undefined ? undefined : hashKey(raw);
      if (!hash)
        throw new Refusal(
          "authentication_required",
          "The key is malformed: cut, mistyped, or no key at all.",
        );
      const owner = await ownerOf(hash);
      if (!owner) throw new Refusal("authentication_required", "The key is unknown, expired or revoked.");
      used.add(owner.key_id);
      return principalOf(owner);
    },
    async close() {
      clearInterval(ticker);
      await flush();
    },
  };
}
