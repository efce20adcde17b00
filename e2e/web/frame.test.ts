import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

describe("layout", () => {
  test("shows the navigation without violating the content security policy or leaving the origin", async () => {
    const { page, consoleErrors } = await app.visit("/runs");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    for (const place of ["Home", "Environments", "Secrets", "Settings"]) {
      await page.getByRole("navigation").first().getByRole("link", { name: place }).waitFor();
    }
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });
});
