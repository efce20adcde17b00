import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000 });

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

describe("the frame", () => {
  test("shows the places, and nothing breaks the policy or leaves the origin", async () => {
    const { page, complaints } = await world.visit("/runs");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    for (const place of ["Home", "Environments", "Secrets", "Settings"]) {
      await page.getByRole("navigation").first().getByRole("link", { name: place }).waitFor();
    }
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});
