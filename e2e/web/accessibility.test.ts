import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { withoutRefusals } from "./people.ts";
import { settled, shownPages } from "./showcase/pages.ts";
import { fillShowcase, type Showcase } from "./showcase/showcase.ts";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 180_000 });

let world: WebWorld;
let showcase: Showcase;

beforeAll(async () => {
  world = await startWebWorld();
  showcase = await fillShowcase(world);
});
afterAll(() => world?.stop());

const isFull = Boolean(process.env.OUTRIDER_FULL);
const pages = shownPages.filter(({ main }) => main || isFull);
const sizes = ["phone", "desktop"] as const;

describe.each(sizes)("on a %s", (size) => {
  test.each(pages)(
    "nothing on $name keeps anybody out, in either theme",
    async ({ path, ready, signedIn = true }) => {
      const { page, context, complaints } = await world.visit(path(showcase), {
        size,
        signedIn,
        theme: "light",
      });
      await ready(page);
      await settled(page);
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: "dark" });
      await page.locator("html[data-theme=dark]").waitFor();
      await expectAccessible(page);
      const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
      expect(await page.evaluate(overflow)).toBe(0);
      expect(withoutRefusals(complaints)).toEqual([]);
      await context.close();
    },
  );
});
