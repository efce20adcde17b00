import { signInLinkUrl } from "@outrider/contract/auth/sign-in";
import type { Me, SignInLinkResponse } from "@outrider/contract/auth/user";
import { type Principal, requireNoLimits } from "../../engine/auth/principal.ts";
import { type CreatedLink, replaceSignInLink } from "../../engine/auth/sign-in-links.ts";
import { changeUser, invite, removeUser } from "../../engine/auth/users.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { listUsers } from "../../store/auth/users.ts";
import { type Handlers, noContent, ok, type Result } from "../pipeline/call.ts";
import { quotasOf } from "../pipeline/quotas.ts";

export function meOf({ creator, role, key, session }: Principal): Me {
  return {
    ...creator,
    ...(creator.type === "user" ? { role } : {}),
    ...(key ? { key } : {}),
    ...(session ? { session } : {}),
  };
}

/** Builds a response with a sign-in link. The link is shown only once, so an idempotent replay omits it. */
function withLink(origin: string, { token, expires_at }: CreatedLink, more: object = {}): Result {
  const replayBody: SignInLinkResponse = { ...more, expires_at };
  return { status: 201, body: { ...replayBody, link: signInLinkUrl(origin, token) }, replayBody };
}

export const usersHandlers: Pick<
  Handlers,
  "getMe" | "listUsers" | "inviteUser" | "updateUser" | "deleteUser" | "createSignInLink"
> = {
  async getMe({ services, principal, rateLimits }) {
    return ok({ ...meOf(principal), quotas: await quotasOf(services, rateLimits, principal) });
  },

  async listUsers({ sql }) {
    return ok({ users: await listUsers(sql) });
  },

  async inviteUser({ sql, services, principal, body }) {
    requireNoLimits(principal, "invite users");
    const { user, link } = await invite(sql, body);
    return withLink(services.origin(), link, { user });
  },

  async updateUser({ sql, params, body }) {
    return ok(await changeUser(sql, params.userUid, body));
  },

  async deleteUser({ sql, principal, params, publish }) {
    await removeUser(sql, principal, params.userUid);
    publish(topics.keys);
    return noContent;
  },

  async createSignInLink({ sql, services, principal, params }) {
    requireNoLimits(principal, "create sign-in links");
    return withLink(services.origin(), await replaceSignInLink(sql, params.userUid));
  },
};
