import { describe, expect, test } from "vitest";
import { paint, terminalLines, withoutColours } from "../src/ui/terminal.ts";

const ESC = "\u001b";

describe("what a command printed", () => {
  test("is what a terminal shows in the end", () => {
    expect(terminalLines("1 %\r50 %\rdone\r\nnext\n")).toEqual(["done", "next"]);
    expect(terminalLines(`${ESC}]0;a title\u0007${ESC}[2K${ESC}[1Atext`)).toEqual(["text"]);
    expect(terminalLines("N\bNA\bAM\bME\bE")).toEqual(["NAME"]);
  });

  test("keeps the colour that was set before a line was written over", () => {
    const [line = ""] = terminalLines(`${ESC}[31mwaiting\rfailed`);
    expect(paint([line])).toEqual([[{ text: "failed", look: "text-bad" }]]);
  });

  test("has our own shades of a program's colours, whatever it chose", () => {
    const look = (codes: string) => paint([`${ESC}[${codes}mx`])[0]?.[0]?.look;
    expect(look("32")).toBe("text-good");
    expect(look("38;5;196")).toBe("text-bad");
    expect(look("38;2;20;30;240")).toBe("text-live");
    expect(look("41;37")).toBe("text-ink bg-bad-soft");
    // Black on black would be there without being seen.
    expect(look("30;40")).toBe("text-muted bg-raised");
    expect(look("8")).toBe("text-muted");
  });

  test("shows what is left of a sequence that does not end", () => {
    expect(withoutColours(terminalLines(`${ESC}]8;;https://example.com`)[0] ?? "")).toContain("⟨U+001B⟩");
  });

  test("costs no more time when it is hostile", () => {
    const began = performance.now();
    for (const bait of [`${ESC}]`, `${ESC}[`, "\r", "a\b", `${ESC}[31`, "e\u0301"]) {
      paint(terminalLines(bait.repeat(100_000)).map((line) => line.slice(0, 2_000)));
    }
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
