import type { Page } from "playwright-core";

/** Waits for the copy confirmation and returns the clipboard's content. */
export async function copied(page: Page): Promise<string> {
  await page
    .getByText(/ copied$/)
    .last()
    .waitFor();
  return await page.evaluate<string>("navigator.clipboard.readText()");
}
