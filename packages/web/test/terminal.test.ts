import { describe, expect, test } from "vitest";
import { stripColors, styleLines, terminalLines } from "../src/ui/text/terminal.ts";

const ESC = "\u001b";

describe("terminal output", () => {
  test("shows the final state of each line", () => {
    expect(terminalLines("1 %\r50 %\rdone\r\nnext\n")).toEqual(["done", "next"]);
    expect(terminalLines(`${ESC}]0;a title\u0007${ESC}[2K${ESC}[1Atext`)).toEqual(["text"]);
    expect(terminalLines("N\bNA\bAM\bME\bE")).toEqual(["NAME"]);
  });

  test("keeps the color that was set before an overwritten part", () => {
    const [line = ""] = terminalLines(`${ESC}[31mwaiting\rfailed`);
    expect(styleLines([line])).toEqual([[{ text: "failed", className: "text-bad" }]]);
  });

  test("maps all ANSI colors to theme colors", () => {
    const classOf = (codes: string) => styleLines([`${ESC}[${codes}mx`])[0]?.[0]?.className;
    expect(classOf("32")).toBe("text-good");
    expect(classOf("38;5;196")).toBe("text-bad");
    expect(classOf("38;2;20;30;240")).toBe("text-live");
    expect(classOf("41;37")).toBe("text-ink bg-bad-soft");
    // Black on black would be invisible.
    expect(classOf("30;40")).toBe("text-muted bg-raised");
    expect(classOf("8")).toBe("text-muted");
  });

  test("shows the rest of an unterminated sequence", () => {
    expect(stripColors(terminalLines(`${ESC}]8;;https://example.com`)[0] ?? "")).toContain("⟨U+001B⟩");
  });

  test("takes linear time for hostile input", () => {
    for (const bait of [`${ESC}]`, `${ESC}[`, "\r", "a\b", `${ESC}[31`, "e\u0301"]) {
      styleLines(terminalLines(bait.repeat(100_000)).map((line) => line.slice(0, 2_000)));
    }
  });
});
