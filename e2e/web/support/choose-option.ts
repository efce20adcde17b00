import type { Locator } from "playwright-core";

/** Opens a select and chooses the option with a label or value. The select is the element with the role combobox. */
export async function chooseOption(select: Locator, option: string) {
  const list = await openList(select);
  const byValue = list.locator(`[role=option][data-value=${JSON.stringify(option)}]`);
  await byValue
    .or(list.getByRole("option", { name: option, exact: true }))
    .first()
    .click();
  // The list closes when the choice is made.
  await list.waitFor({ state: "detached" });
}

/** Opens a select, returns the labels of its options, and closes it again. */
export async function optionLabels(select: Locator): Promise<string[]> {
  const list = await openList(select);
  const labels = await list.getByRole("option").allInnerTexts();
  await select.page().keyboard.press("Escape");
  await list.waitFor({ state: "detached" });
  return labels;
}

/** Returns the value of a select's current option. */
export async function chosenValue(select: Locator): Promise<string | null> {
  return select.getAttribute("data-value");
}

async function openList(select: Locator): Promise<Locator> {
  // Read before the list is open, because the list has the same label as the select.
  const id = await select.getAttribute("aria-controls");
  await select.click();
  const list = select.page().locator(`[id=${JSON.stringify(id)}]`);
  await list.waitFor();
  return list;
}
