import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { settled, shownPages } from "./showcase/pages.ts";
import { fillShowcase, type Showcase } from "./showcase/showcase.ts";
import { goOffline, lostBanner, openInApp, waitForPrefetch } from "./support/connection.ts";
import { withoutRejections } from "./support/users.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;
let showcase: Showcase;

beforeAll(async () => {
  app = await startWebApp();
  showcase = await fillShowcase(app);
});
afterAll(() => app?.stop());

const isFull = Boolean(process.env.OUTRIDER_FULL);
const pages = shownPages.filter(({ main }) => main || isFull);
const sizes = ["phone", "desktop"] as const;

describe.each(sizes)("on a %s", (size) => {
  test.each(pages)(
    "$name has no serious accessibility violations in either theme",
    async ({ path, ready, signedIn = true }) => {
      const { page, context, consoleErrors } = await app.visit(path(showcase), {
        size,
        signedIn,
        theme: "light",
      });
      await ready(page);
      // Colors in transition between themes would be reported as low contrast.
      await page.emulateMedia({ reducedMotion: "reduce" });
      await settled(page);
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: "dark" });
      await page.locator("html[data-theme=dark]").waitFor();
      await expectAccessible(page);
      const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
      expect(await page.evaluate(overflow)).toBe(0);
      expect(withoutRejections(consoleErrors)).toEqual([]);
      await context.close();
    },
  );
});

describe("without the server", () => {
  /** The browser's own error pages have no banner, and a page that failed has an alert. */
  async function isLostOn(page: Page) {
    await lostBanner(page).waitFor();
    expect(await page.getByRole("alert").allInnerTexts()).toEqual([]);
  }

  test("each page opens and says so, and recovers by itself", async () => {
    const { page, context } = await app.visit("/");
    await waitForPrefetch(page);
    for (const { path, ready } of shownPages.filter(({ signedIn = true }) => signedIn)) {
      await goOffline(page);
      await lostBanner(page).waitFor();
      await openInApp(page, path(showcase));
      await page.locator("main").first().waitFor();
      await isLostOn(page);
      await context.setOffline(false);
      await lostBanner(page).waitFor({ state: "detached" });
      await ready(page);
    }
  });

  test.each(shownPages.filter(({ signedIn = true }) => !signedIn))(
    "$name keeps what it has, says so, and recovers by itself",
    async ({ path, ready }) => {
      const { page, context } = await app.visit(path(showcase), { signedIn: false });
      await ready(page);
      await goOffline(page);
      await isLostOn(page);
      await ready(page);
      await context.setOffline(false);
      await lostBanner(page).waitFor({ state: "detached" });
      await ready(page);
    },
  );
});
