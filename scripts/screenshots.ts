import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { settled, shownPages } from "../e2e/web/showcase/pages.ts";
import { fillShowcase, type Showcase } from "../e2e/web/showcase/showcase.ts";
import { startWebWorld, type WebWorld } from "../e2e/web/world.ts";

/** `make screenshots`: every page in both themes, on a phone and a desktop, into docs/img. ONLY="home keys" takes some. */

const folder = process.env.SCREENSHOTS_TO ?? join(import.meta.dirname, "..", "docs", "img");
const only = process.env.ONLY?.split(/[\s,]+/).filter(Boolean);
const pages = shownPages.filter(({ name }) => !only || only.includes(name));
const LARGEST_BYTES = 250 * 1024;

let world: WebWorld;
let showcase: Showcase;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  // The limits that people have, in place of those of tests.
  const usual = ["REQUESTS", "CREATIONS", "FAILURES"].map((name) => [`OUTRIDER_${name}_PER_MINUTE`, ""]);
  world = await startWebWorld(Object.fromEntries(usual));
  showcase = await fillShowcase(world);
});
afterAll(() => world?.stop());

describe.each(["desktop", "phone"] as const)("%s", (size) => {
  test.each(pages)("$name", async ({ name, path, ready, signedIn = true }) => {
    const { page } = await world.visit(path(showcase), { size, signedIn, theme: "light" });
    await ready(page);
    for (const theme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await page.locator(`html[data-theme=${theme}]`).waitFor();
      await settled(page);
      const file = join(folder, `${name}-${theme}-${size}.png`);
      await page.screenshot({ path: file, animations: "disabled", caret: "hide" });
      expect(statSync(file).size).toBeLessThan(LARGEST_BYTES);
    }
  });
});
