import type { Page, Route } from "playwright-core";

/*
 * Measures how much a page's content moves by itself while it loads, as browsers do (cumulative layout shift). The API
 * answers slowly and one response at a time, so that the browser paints after each of them. This makes the result the worst case,
 * which does not depend on the speed of the machine.
 */

/** Which of the waiting responses arrives next. */
export type ResponseOrder = "first" | "last";

interface Shift {
  value: number;
  /** The elements that moved, with their position before and after. */
  sources: string[];
}

const GAP_MS = 80;

/** Opens a path with slow responses in the given order, and returns the shifts after `ready`. */
export async function measureLayoutShift(
  page: Page,
  { path, order, ready }: { path: string; order: ResponseOrder; ready: () => Promise<unknown> },
): Promise<Shift[]> {
  const waiting: (() => Promise<void>)[] = [];
  const delay = async (route: Route) => {
    if (route.request().headers().accept?.includes("text/event-stream")) return route.continue();
    const response = await route.fetch();
    waiting.push(() => route.fulfill({ response }));
  };
  const answer = setInterval(() => {
    const next = order === "first" ? waiting.shift() : waiting.pop();
    // A page that navigates cancels its requests.
    next?.().catch(() => undefined);
  }, GAP_MS);
  await page.route("**/api/v1/**", delay);
  try {
    await page.goto(path);
    await ready();
    return (await page.evaluate(listShifts)) as Shift[];
  } finally {
    clearInterval(answer);
    await page.unroute("**/api/v1/**", delay);
    for (const next of waiting) await next().catch(() => undefined);
  }
}

const listShifts = `new Promise((resolve) => {
  const shifts = [];
  const box = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries())
      if (!hadRecentInput)
        shifts.push({ value, sources: sources.map(({ node, previousRect, currentRect }) =>
          (node?.outerHTML ?? node?.parentElement?.outerHTML ?? "removed").slice(0, 160) + ": " + box(previousRect) + " to " + box(currentRect)) });
  }).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(shifts)));
})`;
