import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { settled, shownPages } from "../e2e/web/showcase/pages.ts";
import { fillShowcase, type Showcase } from "../e2e/web/showcase/showcase.ts";
import { startWebApp, type WebApp } from "../e2e/web/support/web-app.ts";

/** `make screenshots`: captures every page in both themes, for phone and desktop, in docs/img. ONLY="home keys" selects pages. */

const folder = process.env.SCREENSHOTS_TO ?? join(import.meta.dirname, "..", "docs", "img");
const only = process.env.ONLY?.split(/[\s,]+/).filter(Boolean);
const pages = shownPages.filter(({ name }) => !only || only.includes(name));
const MAX_BYTES = 250 * 1024;

let app: WebApp;
let showcase: Showcase;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  // Use the default rate limits instead of the unlimited ones of tests.
  const defaultLimits = ["REQUESTS", "CREATIONS", "FAILURES"].map((name) => [
    `OUTRIDER_${name}_PER_MINUTE`,
    "",
  ]);
  app = await startWebApp(Object.fromEntries(defaultLimits));
  showcase = await fillShowcase(app);
});
afterAll(() => app?.stop());

describe.each(["desktop", "phone"] as const)("%s", (size) => {
  test.each(pages)("$name", async ({ name, path, ready, signedIn = true }) => {
    const { page } = await app.visit(path(showcase), { size, signedIn, theme: "light" });
    await ready(page);
    for (const theme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await page.locator(`html[data-theme=${theme}]`).waitFor();
      await settled(page);
      const file = join(folder, `${name}-${theme}-${size}.png`);
      await page.screenshot({ path: file, animations: "disabled", caret: "hide" });
      expect(statSync(file).size).toBeLessThan(MAX_BYTES);
    }
  });
});
