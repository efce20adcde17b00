import type { Me } from "@outrider/sdk";
import { outrider } from "./api.ts";
import { queries, queryClient } from "./queries.ts";

/** A try that was refused for being one too many must not be repeated behind the person's back. */
const once = { maxRetries: 0 };

export async function signInByPassword(email: string, password: string): Promise<Me> {
  return welcome(await outrider.post<Me>("/auth/sign-in", { ...once, body: { email, password } }));
}

export async function signInByLink(token: string): Promise<Me> {
  return welcome(await outrider.post<Me>("/auth/link", { ...once, body: { token } }));
}

export async function setPassword(password: string, current?: string): Promise<void> {
  const body = { password, ...(current ? { current_password: current } : {}) };
  await outrider.put("/auth/password", { ...once, body });
  await queryClient.invalidateQueries(queries.me());
}

/** What was kept of somebody who used this browser before is not for the next one. */
function welcome(me: Me): Me {
  const own = queries.me().queryKey;
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== own[0] });
  queryClient.setQueryData(own, me);
  return me;
}
