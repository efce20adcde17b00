import type { ListPublicationsResponse, Publication } from "@outrider/sdk";
import { describe, expect, test } from "vitest";
import {
  allowedKinds,
  describeState,
  hostOf,
  latestByPath,
  type Publishable,
  publishableNow,
} from "../src/pages/session/publishing/publications.ts";

const item: Publishable = {
  path: "api",
  repository: "https://git.example.com/acme/api.git",
  kind: "draft_pull_request",
  branch: "outrider/fix-1",
  title: "Fix it",
  body: "",
  files_changed: 1,
  diff_bytes: 10,
  is_published: false,
};

const publication = (state: Publication["state"], path = "api") =>
  ({ publication_id: state + path, path, state, branch: item.branch, kind: item.kind }) as Publication;

const now = (publications: Publication[], ...publishable: Publishable[]) =>
  publishableNow({ publications, publishable } as ListPublicationsResponse).map(({ path }) => path);

describe("publications", () => {
  test("a repository can be published unless it is being published, is published or has a problem", () => {
    expect(now([], item)).toEqual(["api"]);
    expect(now([publication("FAILED")], item)).toEqual(["api"]);
    expect(now([publication("REJECTED"), publication("PUSHING")], item)).toEqual(["api"]);
    expect(now([publication("PUSHING")], item)).toEqual([]);
    expect(now([publication("SUPERSEDED"), publication("AWAITING_APPROVAL")], item)).toEqual([]);
    expect(now([publication("PUSHING", "web")], item, { ...item, path: "web" })).toEqual(["api"]);
    expect(now([], { ...item, is_published: true })).toEqual([]);
    expect(now([], { ...item, problem: "No forge." })).toEqual([]);
    expect(now([], { ...item, kind: "none" })).toEqual([]);
  });

  test("only what the policy allows is offered, a draft first", () => {
    expect(allowedKinds({ kind: "pull_request" })).toEqual(["draft_pull_request", "pull_request", "branch"]);
    expect(allowedKinds({ kind: "draft_pull_request" })).toEqual(["draft_pull_request", "branch"]);
    expect(allowedKinds({ kind: "branch" })).toEqual(["branch"]);
    expect(allowedKinds({ kind: "none" })).toEqual([]);
  });

  test("the last publication of each repository counts, unless it was superseded", () => {
    const all = [
      publication("SUPERSEDED"),
      publication("DONE"),
      publication("FAILED"),
      publication("QUEUED", "web"),
    ];
    expect(latestByPath(all).map(({ path, state }) => [path, state])).toEqual([
      ["api", "DONE"],
      ["web", "QUEUED"],
    ]);
    expect(describeState(publication("PUSHED"))).toBe("Pushed outrider/fix-1. Opening the pull request…");
  });

  test.each([
    ["https://git.example.com:3000/acme/api.git", "git.example.com:3000"],
    ["ssh://git@git.example.com/acme/api.git", "git.example.com"],
    ["git@github.com:acme/api.git", "github.com"],
    ["file:///srv/api.git", undefined],
  ])("the host of %s is %s", (url, host) => {
    expect(hostOf(url)).toBe(host);
  });
});
