import { safeRedirectPath } from "@outrider/contract/auth/sign-in-path";
import { outrider } from "../../api.ts";
import { hasSeenWelcome } from "../welcome/welcome-seen.ts";

/** Returns the path to open after sign-in: the requested page, or the welcome page if there are no runs yet. */
export async function pathAfterSignIn(next: string | undefined): Promise<string> {
  const requested = safeRedirectPath(next);
  const isLogin = new URL(requested, location.origin).pathname === "/login";
  if (requested !== "/" && !isLogin) return requested;
  if (hasSeenWelcome()) return "/";
  const hasNoRuns = await outrider.runs.list({ limit: 1 }).then(
    ({ items }) => items.length === 0,
    () => false,
  );
  return hasNoRuns ? "/welcome" : "/";
}
