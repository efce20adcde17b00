import type { Page } from "playwright-core";
import type { WebApp } from "./web-app.ts";

export const PASSWORD = "seven quiet lanterns over water";

export async function userByEmail(app: WebApp, email: string) {
  const { users } = (await app.call("GET", "/users")).body;
  return users.find((user: { email: string }) => user.email === email);
}

/** Creates a one-time sign-in link. */
export async function linkFor(app: WebApp, email = "admin@localhost"): Promise<string> {
  const { uid } = await userByEmail(app, email);
  return (await app.call("POST", `/users/${uid}/link`)).body.link;
}

/** Invites a member and returns the sign-in link. */
export async function invite(app: WebApp, email: string, display_name: string): Promise<string> {
  return (await app.call("POST", "/users", { body: { email, display_name } })).body.link;
}

/** Signs in on a link's page and skips setting a password. */
export async function signInByLink(page: Page) {
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Skip for now" }).click();
}

/** Drops the browser's messages about expected rejections. */
export function withoutRejections(consoleErrors: string[]): string[] {
  return consoleErrors.filter((text) => !/status of (401|403|429)/.test(text));
}
