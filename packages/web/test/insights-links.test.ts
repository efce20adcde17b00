import type { UsageGroup } from "@outrider/sdk";
import { expect, test } from "vitest";
import { failureFilter, runsHref } from "../src/pages/insights/runs-link.ts";
import { filterOf, readSearch } from "../src/pages/runs/search.ts";

const environment_id = "019a0000-0000-7000-8000-000000000001";
const period = { from: "2026-11-01T00:00:00Z", to: "2026-11-08T00:00:00Z" };

test("a group of failures leads to the runs with its cause and environment in the period", () => {
  const group = { key: `timeout ${environment_id}`, error_code: "timeout", environment_id } as UsageGroup;
  const url = new URL(runsHref({ ...period, ...failureFilter(group) }), "http://localhost");
  expect(filterOf(readSearch(Object.fromEntries(url.searchParams)))).toEqual({
    state: ["FAILED"],
    error_code: ["timeout"],
    environment_id: [environment_id],
    created_after: period.from,
    created_before: period.to,
  });
});

test("the group of all other failures has no link", () => {
  expect(failureFilter({ key: "other", is_other: true } as UsageGroup)).toBeUndefined();
});
