/** Paths of the sign-in page. This module does not import zod, because every page of the web app needs it. */

/** Returns the path of the sign-in page, which redirects to `next` after the sign-in. */
export function signInPath(next: string): string {
  const path = safeRedirectPath(next);
  return path === "/" ? "/login" : `/login?next=${encodeURIComponent(path)}`;
}

/** Returns `next` if it is a path on this host, and the home page otherwise. This prevents open redirects. */
export function safeRedirectPath(next: string | null | undefined): string {
  if (!next || !/^\/(?!\/)[!-[\]-~]*$/.test(next)) return "/";
  // Browsers resolve dots and escapes before they follow a redirect, so the resolved path must be safe too.
  const base = "http://own.invalid";
  const url = URL.canParse(next, base) ? new URL(next, base) : undefined;
  const path = url && `${url.pathname}${url.search}${url.hash}`;
  return url?.origin === base && path && !path.startsWith("//") ? path : "/";
}
