import { afterAll, beforeAll, test, vi } from "vitest";
import { startWebWorld, type WebWorld } from "./world.ts";
import { finish, write } from "./written.ts";
import { zoo } from "./zoo.ts";

vi.setConfig({ testTimeout: 100_000 });
let world: WebWorld;
beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());
test("look", async () => {
  const run = await world.create(
    ["The `session.test.ts` suite fails about one run in ten. Find out why and fix it."],
    { title: "Fix flaky auth middleware test" },
  );
  await write(world, run, zoo);
  await finish(world, run);
  for (const theme of ["light", "dark"] as const)
    for (const size of ["desktop", "phone"] as const) {
      const { page, complaints, context } = await world.visit(`/runs/${run}`, { theme, size });
      await page.getByRole("article", { name: "Succeeded" }).waitFor();
      await page.waitForTimeout(800);
      await page.screenshot({ path: `/tmp/transcript-${theme}-${size}-end.png` });
      await page.getByRole("region", { name: "Transcript" }).evaluate((e) => {
        e.scrollTop = 0;
      });
      await page.waitForTimeout(500);
      await page.screenshot({ path: `/tmp/transcript-${theme}-${size}-top.png` });
      if (complaints.length) console.log(complaints);
      await context.close();
    }
});
