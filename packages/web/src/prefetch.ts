import { queries, queryClient } from "./queries.ts";
import { router } from "./routes.tsx";

/** The page loads first. Prefetching must not compete with it. */
const DELAY_MS = 5_000;

/** The parts that pages load when they are first used. */
const parts = [
  () => import("./ui/overlay/menu-parts.tsx"),
  () => import("./frame/palette.tsx"),
  () => import("./frame/shortcut-help.tsx"),
  () => import("./pages/session/other-tab.tsx"),
  () => import("./pages/session/actions/cancel-dialog.tsx"),
  () => import("./pages/session/actions/rerun-dialog.tsx"),
];

/**
 * Loads the code of all pages once the browser is idle. They then open at once, and also while the server cannot be
 * reached.
 */
export function prefetchWhenIdle() {
  const { connection } = navigator as { connection?: { saveData?: boolean } };
  if (connection?.saveData) return;
  setTimeout(() => void prefetch(), DELAY_MS);
}

async function prefetch() {
  const pages = Object.keys(router.routesById).map((id) => () => componentOf(id)?.preload?.());
  for (const load of [...pages, ...parts]) {
    await idle();
    try {
      await load();
    } catch {
      // The page loads the part itself when it needs it, and shows what went wrong.
      return;
    }
  }
}

function componentOf(id: string): { preload?: () => Promise<unknown> } | undefined {
  const routes = router.routesById as Record<string, { options: object }>;
  return (routes[id]?.options as { component?: object })?.component;
}

/** Safari has no `requestIdleCallback`. */
function idle(): Promise<unknown> {
  return new Promise((resolve) => {
    if ("requestIdleCallback" in window) requestIdleCallback(resolve, { timeout: 2_000 });
    else setTimeout(resolve, 100);
  });
}

/** Loads the code of the first page and, if it requires sign-in, the current user at the same time. */
export function startWithPage() {
  const matches = router.matchRoutes(router.latestLocation);
  if (matches.some(({ routeId }) => routeId === "/frame"))
    void queryClient.prefetchQuery({ ...queries.me(), meta: { isGuard: true } });
  for (const { routeId } of matches)
    componentOf(routeId)
      ?.preload?.()
      .catch(() => {});
}
