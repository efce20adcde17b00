import { signInPath } from "@outrider/contract/auth/sign-in-path";

/** Returns the path of the sign-in page, which leads back to the current page. `ended` makes it say why it was opened. */
export function signInPathOfPage({ ended }: { ended: boolean }): string {
  const path = signInPath(location.pathname + location.search + location.hash);
  return ended ? `${path}${path.includes("?") ? "&" : "?"}ended=true` : path;
}
