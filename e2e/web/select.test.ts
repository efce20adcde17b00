import { afterAll, beforeAll, expect, test } from "vitest";
import { chosenValue } from "./support/choose-option.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

test("a select in a dialog works with the keyboard, and Escape closes only its list", async () => {
  const { page, consoleErrors } = await app.visit("/settings?section=users");
  await page.getByRole("button", { name: "Invite" }).first().click();
  const dialog = page.getByRole("dialog");
  const role = dialog.getByRole("combobox", { name: "Role" });
  const list = page.getByRole("listbox");
  await role.focus();
  await page.keyboard.press("ArrowDown");
  await list.waitFor();
  await expectAccessible(page);
  const active = await role.getAttribute("aria-activedescendant");
  expect(await page.locator(`[id="${active}"]`).innerText()).toBe("Member");
  await page.keyboard.press("Escape");
  await list.waitFor({ state: "detached" });
  expect(await dialog.isVisible()).toBe(true);
  // Typing finds an option, and no shortcut of the page.
  await page.keyboard.type("ad");
  await page.keyboard.press("Enter");
  await list.waitFor({ state: "detached" });
  expect(await chosenValue(role)).toBe("admin");
  await page.keyboard.press("Enter");
  await page.keyboard.press("End");
  await page.keyboard.press("Tab");
  expect(await chosenValue(role)).toBe("member");
  expect(await page.locator("select:visible").count()).toBe(0);
  expect(consoleErrors).toEqual([]);
});

test("the list of a select stays in the window of a phone", async () => {
  for (let index = 1; index <= 30; index += 1)
    await app.call("POST", "/agent/environments", {
      body: { name: `a rather long environment name ${index}` },
    });
  const { page } = await app.visit("/", { size: "phone", theme: "dark" });
  await page.getByRole("combobox", { name: "Environment" }).click();
  const box = await page.getByRole("listbox", { name: "Environment" }).boundingBox();
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
  expect(box && box.x >= 0 && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= height).toBe(
    true,
  );
  await expectAccessible(page);
  await page.getByRole("option", { name: "a rather long environment name 30" }).click();
  await page.getByRole("combobox", { name: "Environment" }).getByText("name 30").waitFor();
});
