import type { Page } from "playwright-core";

/** What the page's last copy button put there, once it says that it has. */
export async function copied(page: Page): Promise<string> {
  await page
    .getByText(/ copied$/)
    .last()
    .waitFor();
  return await page.evaluate<string>("navigator.clipboard.readText()");
}
