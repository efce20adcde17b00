import { describe, expect, it } from "vitest";
import type { StreamPart } from "../../src/models/provider.ts";
import { ThinkTagExtractor } from "../../src/models/providers/think-tags.ts";
import { call, finish } from "../answers.ts";

/** Passes a text in pieces of this size through the extractor. */
function read(text: string, size: number, after: StreamPart[] = [finish()]) {
  const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
  const chunks: StreamPart[] = [
    { type: "text-start", id: "1" },
    ...pieces.map((delta): StreamPart => ({ type: "text-delta", id: "1", delta })),
    { type: "text-end", id: "1" },
    ...after,
  ];
  const extractor = new ThinkTagExtractor();
  const parts = chunks.flatMap((part) => extractor.push(part));
  const joined = (type: "text-delta" | "reasoning-delta") =>
    parts.map((part) => (part.type === type ? part.delta : "")).join("");
  return { parts, text: joined("text-delta"), reasoning: joined("reasoning-delta") };
}

describe.each([1, 2, 3, 7, 1_000])("in pieces of %i characters", (size) => {
  it.each([
    ["a tag at the start", "<think>\nLet me see.\n</think>\n\nYes.", "Let me see.\n", "Yes."],
    ["a tag after a line break", "\n<think>Hm.</think>Yes.", "Hm.", "Yes."],
    ["an empty tag", "<think>\n\n</think>\n\nYes.", "", "Yes."],
    ["an unclosed tag", "<think>Hm, </thin", "Hm, </thin", ""],
    ["a tag without an answer", "<think>Hm.</think>\n", "Hm.", ""],
    ["a tag inside the answer", "Write <think>x</think>.", "", "Write <think>x</think>."],
    ["a second tag", "<think>a</think>b <think>c</think>", "a", "b <think>c</think>"],
    ["the beginning of a tag", "<thi", "", "<thi"],
    ["another tag", "<thinking>a</thinking>", "", "<thinking>a</thinking>"],
    ["no tag", "  Yes.", "", "  Yes."],
  ])("%s", (_, whole, reasoning, text) => {
    const result = read(whole, size);
    expect(result).toMatchObject({ reasoning, text });
    for (const kind of ["text", "reasoning"]) {
      const open = result.parts.filter(({ type }) => type === `${kind}-start`).length;
      expect(result.parts.filter(({ type }) => type === `${kind}-end`)).toHaveLength(open);
      expect(open).toBeLessThanOrEqual(1);
    }
  });
});

it("a call after the tag is passed on", () => {
  const { parts, reasoning } = read("<think>Hm.</think>", 4, [call("ask", {}), finish()]);
  expect(reasoning).toBe("Hm.");
  expect(parts.map(({ type }) => type)).toContain("tool-call");
});
