import type { Page } from "playwright-core";
import type { WebWorld } from "./world.ts";

/** People of the tests, and how they come in. */

export const PASSWORD = "seven quiet lanterns over water";

export async function personByEmail(world: WebWorld, email: string) {
  const { people } = (await world.call("GET", "/people")).body;
  return people.find((person: { email: string }) => person.email === email);
}

/** A one-time link as an admin would make it. */
export async function linkFor(world: WebWorld, email = "admin@localhost"): Promise<string> {
  const { uid } = await personByEmail(world, email);
  return (await world.call("POST", `/people/${uid}/link`)).body.link;
}

/** A new member who has signed in by the link of the invitation. */
export async function invite(world: WebWorld, email: string, display_name: string): Promise<string> {
  return (await world.call("POST", "/people", { body: { email, display_name } })).body.link;
}

/** Opens the link's page, presses the button, and skips the password. */
export async function comeInByLink(page: Page) {
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Skip for now" }).click();
}

/** What a browser says of answers that were meant to be refusals. */
export function withoutRefusals(complaints: string[]): string[] {
  return complaints.filter((text) => !/status of (401|403|429)/.test(text));
}
