import { describe, expect, test } from "vitest";
import { emptyDraft } from "../src/pages/composer/draft.ts";
import { compareLines, differencesOf } from "../src/pages/composer/draft-difference.ts";

describe("differences between drafts", () => {
  test("name each changed field, and never the values of MCP servers", () => {
    const server = {
      row: "1",
      name: "tickets",
      kind: "url" as const,
      target: "https://mcp.invalid",
      args: "",
    };
    const before = { ...emptyDraft, prompt: "one", servers: [{ ...server, values: "Authorization: " }] };
    const after = {
      ...before,
      max_steps: "7",
      servers: [{ ...server, values: "Authorization: hush\nX-Team: a" }],
    };
    expect(differencesOf(before, { ...before, prompt: "one\n" })).toEqual([]);
    expect(differencesOf(before, after)).toEqual([
      { member: "max_steps", label: "Step limit", before: "", after: "7" },
      {
        member: "servers",
        label: "MCP servers",
        before: "tickets https://mcp.invalid Authorization",
        after: "tickets https://mcp.invalid Authorization X-Team",
      },
    ]);
  });

  test("compare texts line by line", () => {
    const signs = { same: " ", added: "+", removed: "-" };
    const shown = (before: string, after: string) =>
      compareLines(before, after).map(({ kind, text }) => signs[kind] + text);
    expect(shown("a\nb\nc", "a\nx\nc\nd")).toEqual([" a", "-b", "+x", " c", "+d"]);
    expect(shown("", "a")).toEqual(["-", "+a"]);
    const long = "line\n".repeat(5_000);
    expect(compareLines(long, long)).toHaveLength(10_002);
  });
});
