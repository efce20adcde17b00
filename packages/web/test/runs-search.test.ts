import { expect, test } from "vitest";
import { filterOf, readSearch } from "../src/pages/runs/search.ts";

test("runs are filtered by the state of their pull request and by artifact type", () => {
  const search = readSearch({
    pull_request: "Open,MERGED,gone",
    artifact_type: "pull_request",
    state: "failed",
  });
  expect(search).toEqual({ pull_request: "open,merged", artifact_type: "PULL_REQUEST", state: "FAILED" });
  expect(filterOf(search)).toEqual({
    pull_request_state: ["open", "merged"],
    artifact_type: ["PULL_REQUEST"],
    state: ["FAILED"],
  });
});
