import { outrider } from "../../api.ts";
import { isWelcomed } from "../welcome/welcomed.ts";

/** A path of our own, or nothing: the address of this page must not lead anybody to another host. */
export function ownPath(next: string | undefined): string | undefined {
  if (!next?.startsWith("/") || !URL.canParse(next, location.origin)) return undefined;
  // What counts is what the browser makes of it: it reads `\` as `/`, and resolves dots.
  const { origin, pathname, search, hash } = new URL(next, location.origin);
  const isOurs = origin === location.origin && !pathname.startsWith("//") && pathname !== "/login";
  return isOurs ? pathname + search + hash : undefined;
}

/** Where somebody goes who has signed in: to what was asked for, or where nothing has ever run, to the welcome. */
export async function placeAfter(next: string | undefined): Promise<string> {
  const asked = ownPath(next);
  if (asked && asked !== "/") return asked;
  if (isWelcomed()) return "/";
  const isFresh = await outrider.runs.list({ limit: 1 }).then(
    ({ items }) => items.length === 0,
    () => false,
  );
  return isFresh ? "/welcome" : "/";
}
