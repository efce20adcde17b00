import { expect, test } from "vitest";
import { appPage, manifestOf } from "../src/pages/settings/forges/forge-labels.ts";

test("the state of GitHub's redirect names the app that is being created", () => {
  const id = "01990000-0000-7000-8000-000000000001";
  expect(manifestOf(`${id}.secret`)).toBe(id);
  expect(manifestOf("secret")).toBeUndefined();
});

test("the page that creates an app gets the host and organization in its URL", () => {
  expect(appPage({})).toBe("/settings/forges/github-app/new");
  expect(appPage({ url: "https://git.example.com", organization: "acme" })).toBe(
    "/settings/forges/github-app/new?host=https%3A%2F%2Fgit.example.com&organization=acme",
  );
});
