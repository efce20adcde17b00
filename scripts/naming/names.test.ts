import { describe, expect, it } from "vitest";
import { deniedNames } from "./names.ts";

describe("a denied name", () => {
  it.each([
    ["const brake = 1;", "brake"],
    ["getBrakeState();", "getBrakeState"],
    ["select brake_state from installation;", "brake_state"],
    ["throw new Refusal();", "Refusal"],
  ])("is found in code: %s", (line, name) => {
    expect(deniedNames("a.ts", `\n${line}`)).toEqual([
      expect.stringMatching(`^a.ts:2: "${name}" is an old name`),
    ]);
  });

  it.each(["make torture", "GET /installation/brake", "`outrider person add`"])(
    "is found in prose: %s",
    (line) => {
      expect(deniedNames("docs/a.md", line)).toHaveLength(1);
    },
  );

  it("is found in a path", () => {
    expect(deniedNames("e2e/torture/main.ts", "")).toEqual([
      'e2e/torture/main.ts: a path must not contain "torture"; use "chaos".',
    ]);
  });
});

describe("a name that is not denied", () => {
  it.each(["personal key", "const personalKey = 1;", "const headroom = 1;", "const seasoned = 1;"])(
    "passes: %s",
    (line) => {
      expect(deniedNames("a.ts", line)).toEqual([]);
    },
  );

  it("may stand in comments and strings", () => {
    expect(deniedNames("a.ts", '// The person at the brake.\nconst text = "people";')).toEqual([]);
  });
});
