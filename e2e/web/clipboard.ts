import type { Page } from "playwright-core";

/** What the page's last copy button put there. */
export async function copied(page: Page): Promise<string> {
  return await page.evaluate<string>("navigator.clipboard.readText()");
}
