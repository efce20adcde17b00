import { describe, expect, test } from "vitest";
import { closestNames } from "../../src/repositories/closest-names.ts";
import { RefListingParser } from "../../src/repositories/ref-listing.ts";

/** Names that a hostile repository chooses to keep a worker busy. */

const object = "0".repeat(40);
const parse = (text: string, { maxRefs = 100, chunkBytes = 1_000 } = {}) => {
  const parser = new RefListingParser({ maxRefs });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) parser.push(bytes.subarray(at, at + chunkBytes));
  return parser;
};

describe("a listing of refs", () => {
  test.each([1, 7, 1_000])("is parsed in chunks of %i bytes", (chunkBytes) => {
    const text = `ref: refs/heads/grün\tHEAD\n${object}\trefs/heads/grün\n${object}\trefs/tags/v1\n${object}\trefs/tags/v1^{}\n`;
    const { listing, count } = parse(text, { chunkBytes });
    expect(listing).toEqual({
      head: "refs/heads/grün",
      refs: new Map([
        ["refs/heads/grün", object],
        ["refs/tags/v1", object],
      ]),
      peeled: new Map([["refs/tags/v1", object]]),
    });
    expect(count).toBe(2);
  });

  test("beyond the limit is counted, but not kept", () => {
    const lines = Array.from({ length: 1_000 }, (_, index) => `${object}\trefs/heads/b${index}\n`);
    const { listing, count } = parse(lines.join(""));
    expect(count).toBe(1_000);
    expect(listing.refs.size).toBe(100);
  });

  test("omits a line that is too long to be a ref, in whatever chunks it arrives", () => {
    const long = `${object}\trefs/heads/${"a".repeat(300_000)}\n`;
    const { listing } = parse(`${long}${object}\trefs/heads/b\n`);
    expect([...listing.refs.keys()]).toEqual(["refs/heads/b"]);
  });
});

describe("suggestions", () => {
  test("are found among names of similar length", () => {
    const names = ["release/1.2", "x".repeat(2_000), "release/2.0-with-a-very-long-name", "main"];
    expect(closestNames("relase/1.2", names, 3)).toEqual(["release/1.2"]);
  });

  test("compare only a limited number of long names", () => {
    const wanted = "a".repeat(250);
    const close = `${"a".repeat(249)}b`;
    const far = Array.from({ length: 5_000 }, (_, index) => `${"b".repeat(240)}${index}`);
    expect(closestNames(wanted, [close, ...far], 3)).toEqual([close]);
    expect(closestNames(wanted, [...far, close], 3)).toEqual([]);
  });
});
