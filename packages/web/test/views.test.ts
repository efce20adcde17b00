import type { View } from "@outrider/sdk";
import { expect, test } from "vitest";
import { readSearch } from "../src/pages/runs/search.ts";
import { contentOf, isSameSearch, searchOf } from "../src/pages/runs/views.ts";

test("a saved view has the same search as before it was saved", () => {
  const search = readSearch({
    q: "checkout",
    state: "FAILED,BLOCKED",
    environment: "5a6de2c2-0d5f-4c0c-9f0a-000000000001",
    creator: "me",
    source: "CLI",
    model: "scripted",
    name: "nightly",
    skill: "owner/repo:skill",
    error_code: "timeout",
    repository: "https://git.example.com/a/b.git",
    from: "2026-10-25",
    to: "2026-10-31",
    metadata: ["team=blue", "note=a=b"],
    sort: "title",
  });
  const content = contentOf(search, ["state", "title"]);
  expect(content.sort).toEqual({ by: "title", order: "asc" });
  const view = { ...content, view_id: "id", name: "v", is_shared: false } as View;
  expect(searchOf(view)).toEqual({ ...search, order: "asc", view: "id" });
  expect(isSameSearch(searchOf(view), search)).toBe(true);
  expect(isSameSearch(searchOf(view), { ...search, order: "desc" })).toBe(false);
});
