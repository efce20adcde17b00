import { EnvironmentRequest } from "@outrider/contract/environment";
import type { PublishPolicy } from "@outrider/contract/publish-policy";
import { describe, expect, test } from "vitest";
import {
  blankPublish,
  describePolicy,
  policyOf,
  publishValuesOf,
} from "../src/pages/environments/form/publish-values.ts";
import { blankValues, fieldOf, requestOf } from "../src/pages/environments/form/values.ts";

const full: Required<PublishPolicy> = {
  publish: "pull_request",
  when: "on_success",
  base: "main",
  branch_prefix: "bot/",
  commit_uncommitted: false,
  on_base_moved: "rebase",
  protected_paths: [],
  approval: "required",
  approval_paths: ["scripts/**", "Makefile"],
  max_diff_bytes: 2 * 1024 * 1024,
  co_author: { name: "Ada L", email: "ada@example.com" },
  sign_off: true,
  signing_secret: "SIGNING_KEY",
  labels: ["agent"],
  reviewers: ["ada", "grace"],
  follow_up: { comments: true, checks: false },
};

describe("publish policy in the environment form", () => {
  test("keeps every field", () => {
    // biome-ignore lint/suspicious/noExplicitAny: the client's type has no undefined members.
    expect(policyOf(publishValuesOf(full as any))).toEqual(full);
    const [sent] = requestOf({
      ...blankValues,
      name: "api",
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      repos: [{ ...blankValues.repos[0], address: "acme/api", ...publishValuesOf(full as any) } as any],
    }).repos;
    expect(sent).toEqual({ owner: "acme", repo: "api", publish: full });
    expect(EnvironmentRequest.safeParse({ name: "api", repos: [sent] }).success).toBe(true);
  });

  test("omits the policy if nothing differs from the defaults", () => {
    expect(policyOf(blankPublish)).toBeUndefined();
    expect(describePolicy(blankPublish)).toBe("Draft pull requests, on request");
    expect(describePolicy({ ...blankPublish, publish_publish: "none" })).toBe("Nothing");
  });

  test("shows errors of the policy at their fields", () => {
    const values = { ...blankValues, repos: blankValues.repos.map((row) => ({ ...row, address: "a/b" })) };
    expect(fieldOf(["repos", "0", "publish", "base"], values)).toEqual(["repos", "0", "publish_base"]);
    expect(fieldOf(["repos", "0", "publish", "protected_paths", "1"], values)).toEqual([
      "repos",
      "0",
      "publish_protected_paths",
    ]);
    expect(fieldOf(["repos", "0", "url"], values)).toEqual(["repos", "0", "address"]);
  });

  test("rejects an author without an email address", () => {
    const publish = policyOf({ ...blankPublish, publish_co_author: "Ada" });
    const parsed = EnvironmentRequest.safeParse({ name: "a", repos: [{ owner: "a", repo: "b", publish }] });
    expect(parsed.error?.issues[0]?.path).toEqual(["repos", 0, "publish", "co_author", "email"]);
  });
});
