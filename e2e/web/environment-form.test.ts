import { addPerson } from "@outrider/server/engine/welcome";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { patience } from "../../packages/worker/test/world.ts";
import { expectAccessible, patient, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000 });

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

async function make(body: object): Promise<string> {
  const reply = await world.call("POST", "/agent/environments", { body });
  expect(reply.status).toBe(201);
  return reply.body.environment_id;
}
const stored = async (id: string) => (await world.call("GET", `/agent/environments/${id}`)).body;

describe("the form of an environment", () => {
  test("what the API refuses stands at its field, and nothing that was typed is lost", async () => {
    const id = await make({ name: "fields" });
    const { page, complaints } = await world.visit(`/environments/${id}`);
    await page.getByRole("button", { name: "Add repository" }).click();
    await page.getByLabel("Repository 1", { exact: true }).fill("not an address");
    await page.getByRole("radio", { name: /Only these domains/ }).check();
    await page.getByLabel("Domain 1", { exact: true }).fill("https://example.com/");
    await page.getByLabel("Memory (MB)").fill("1");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("alert").getByText("3 things need correcting").waitFor();
    for (const label of ["Repository 1", "Domain 1", "Memory (MB)"]) {
      expect(await page.getByLabel(label, { exact: true }).getAttribute("aria-invalid")).toBe("true");
    }
    await page.getByLabel("Repository 1", { exact: true }).and(page.locator(":focus")).waitFor();
    expect(await page.getByLabel("Domain 1", { exact: true }).inputValue()).toBe("https://example.com/");
    await expectAccessible(page);
    await page.getByLabel("Repository 1", { exact: true }).fill("acme/site");
    await page.getByLabel("Domain 1", { exact: true }).fill("*.example.com");
    await page.getByLabel("Memory (MB)").fill("512");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("Everything is saved").waitFor();
    expect(await stored(id)).toMatchObject({
      repos: [{ owner: "acme", repo: "site" }],
      network: { mode: "allowlist", allow: ["*.example.com"] },
      resources: { memory_mb: 512 },
    });
    // The browser itself notes each refusal.
    expect(complaints.filter((each) => !each.includes("400 (Bad Request)"))).toEqual([]);
  });

  test("rows are put in order by keyboard, and the focus stays with the row", async () => {
    const id = await make({ name: "ordered", setup_commands: ["first", "second", "third"] });
    const { page, complaints } = await world.visit(`/environments/${id}`);
    await page.getByRole("button", { name: "Move command 3 up" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    // At the top there is no further up: the focus waits at the way back.
    const focused = () => page.evaluate("document.activeElement.getAttribute('aria-label')");
    expect(await focused()).toBe("Move command 1 down");
    await page.getByRole("button", { name: "Remove command 3" }).press("Enter");
    expect(await focused()).toBe("Remove command 2");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Everything is saved").waitFor();
    expect((await stored(id)).setup_commands).toEqual(["third", "first"]);
    expect(complaints).toEqual([]);
  });

  test("leaving asks before changes are lost; a look at the builds keeps them", async () => {
    const id = await make({ name: "guarded" });
    const { page, complaints } = await world.visit(`/environments/${id}`);
    await page.getByLabel("Description").fill("half a thought");
    await page.getByRole("link", { name: "Builds" }).click();
    await page.getByRole("heading", { name: "Nothing to build" }).waitFor();
    await page.getByRole("link", { name: /Configuration/ }).click();
    expect(await page.getByLabel("Description").inputValue()).toBe("half a thought");
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
    await page.getByRole("button", { name: "Stay" }).click();
    expect(await page.getByLabel("Description").inputValue()).toBe("half a thought");
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByRole("button", { name: "Leave" }).click();
    await page.waitForURL("**/runs");
    expect((await stored(id)).description).toBeUndefined();
    expect(complaints).toEqual([]);
  });

  test("one is duplicated, and deleted after it is said what uses it", async () => {
    const id = await make({ name: "twin", description: "of two", setup_commands: ["true"] });
    await world.call("POST", "/agent/identities", { body: { name: "nightly-bot", environment_id: id } });
    const { page, complaints } = await world.visit(`/environments/${id}`, { theme: "dark", size: "phone" });
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Duplicate" }).click();
    await expect.poll(() => page.getByLabel("Name", { exact: true }).inputValue(), patient).toBe("twin copy");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Create environment" }).click();
    await page.getByRole("heading", { name: "twin copy" }).waitFor();
    await page.goto(`/environments/${id}`);
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete twin?" });
    await dialog.getByText("nightly-bot").waitFor();
    await dialog.getByText("No unfinished run uses it.").waitFor();
    await dialog.getByRole("button", { name: "Delete environment" }).click();
    await page.waitForURL("**/environments");
    await vi.waitUntil(
      async () => (await page.getByRole("link", { name: "twin", exact: true }).count()) === 0,
      patience,
    );
    await page.getByRole("link", { name: "twin copy" }).waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  test("a member sees everything and can change nothing", async () => {
    const id = await make({ name: "read", setup_commands: ["make ready"], variables: { COLOUR: "blue" } });
    const person = { email: "member@example.com", display_name: "Member", role: "member" as const };
    const key = await addPerson(world.db, person);
    const { page, context } = await world.visit("/login", { signedIn: false });
    await context.route("**/api/**", (route) =>
      route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${key}` } }),
    );
    await page.goto(`/environments/${id}`);
    await page.getByText("COLOUR=blue").waitFor();
    await page.getByText("make ready").waitFor();
    expect(await page.getByRole("textbox").count()).toBe(0);
    await page.getByRole("button", { name: "More actions" }).click();
    // A menu is fetched when the first one is opened.
    await page.getByRole("menuitem").first().waitFor();
    expect(await page.getByRole("menuitem").allTextContents()).toEqual(["Copy id"]);
    await page.goto("/environments");
    await page.getByRole("link", { name: "read", exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "New environment" }).count()).toBe(0);
    await page.goto("/secrets");
    await page.getByRole("heading", { name: "Administrators keep the secrets" }).waitFor();
  });
});
