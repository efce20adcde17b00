import type { Me, SignInLinkResponse } from "@outrider/contract/person";
import { linkAddress } from "@outrider/contract/sign-in";
import { changePerson, invite, removePerson } from "../../engine/people.ts";
import type { Principal } from "../../engine/principal.ts";
import { type MadeLink, relink } from "../../engine/sign-in-links.ts";
import { listPeople } from "../../store/people.ts";
import { gone, type Handlers, ok, type Result } from "../call.ts";
import { quotasOf } from "../quotas.ts";

export function meOf({ creator, role, key, session }: Principal): Me {
  return {
    ...creator,
    ...(creator.type === "user" ? { role } : {}),
    ...(key ? { key } : {}),
    ...(session ? { session } : {}),
  };
}

/** The link comes out this once; a replay tells the rest. */
function withLink(origin: string, { token, expires_at }: MadeLink, more: object = {}): Result {
  const replayBody: SignInLinkResponse = { ...more, expires_at };
  return { status: 201, body: { ...replayBody, link: linkAddress(origin, token) }, replayBody };
}

export const peopleHandlers: Pick<
  Handlers,
  "getMe" | "listPeople" | "invitePerson" | "updatePerson" | "deletePerson" | "createSignInLink"
> = {
  async getMe({ services, principal, rateLimits }) {
    return ok({ ...meOf(principal), quotas: await quotasOf(services, rateLimits, principal) });
  },

  async listPeople({ sql }) {
    return ok({ people: await listPeople(sql) });
  },

  async invitePerson({ sql, services, body }) {
    const { person, link } = await invite(sql, body);
    return withLink(services.origin(), link, { person });
  },

  async updatePerson({ sql, params, body }) {
    return ok(await changePerson(sql, params.personUid, body));
  },

  async deletePerson({ sql, principal, params }) {
    await removePerson(sql, principal, params.personUid);
    return gone;
  },

  async createSignInLink({ sql, services, params }) {
    return withLink(services.origin(), await relink(sql, params.personUid));
  },
};
