import type { SetEmailRequest, SetPasswordRequest, SignInRequest } from "@outrider/contract/auth/sign-in";
import type { Me } from "@outrider/sdk";
import { outrider } from "./api.ts";
import { queries, queryClient } from "./queries.ts";

/** Sign-in attempts are rate limited, so the client must not retry them on its own. */
const once = { maxRetries: 0 };

export async function signInByPassword(body: SignInRequest): Promise<Me> {
  return startSession(await outrider.post<Me>("/auth/sign-in", { ...once, body }));
}

export async function signInByLink(token: string): Promise<Me> {
  return startSession(await outrider.post<Me>("/auth/link", { ...once, body: { token } }));
}

export async function setPassword(body: SetPasswordRequest): Promise<void> {
  await outrider.put("/auth/password", { ...once, body });
  await queryClient.invalidateQueries(queries.me());
}

export async function setEmail(body: SetEmailRequest): Promise<void> {
  await outrider.put("/auth/email", { ...once, body });
  await queryClient.invalidateQueries(queries.me());
}

/** Removes data that was cached for this browser's previous user. */
function startSession(me: Me): Me {
  const own = queries.me().queryKey;
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== own[0] });
  queryClient.setQueryData(own, me);
  return me;
}
