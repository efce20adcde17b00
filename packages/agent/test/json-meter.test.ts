import { describe, expect, test } from "vitest";
import { findExcess, JsonMeter } from "../src/json-meter.ts";

const limits = { depth: 3, values: 5 };

describe("a JSON meter", () => {
  test.each(["[[[]]]", "[1,2,3,4,5]", '{"a":{"b":{}}}', '["[[[[[[","\\"[[[[",",,,,,,,,"]', "", "no JSON"])(
    "accepts %s",
    (text) => {
      expect(findExcess(text, limits)).toBeUndefined();
    },
  );

  test.each(["[[[[", '{"a":[{"b":[1]}]}'])("rejects %s for its depth", (text) => {
    expect(findExcess(text, limits)).toBe("is nested deeper than 3 levels");
  });

  test.each(["[1,2,3,4,5,6]", "[[],[],[]]", '{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}'])(
    "rejects %s for its values",
    (text) => {
      expect(findExcess(text, limits)).toBe("contains more than 5 values");
    },
  );

  test("measures text in chunks that split strings and escapes", () => {
    const text = Buffer.from('["\\"[[[[[[","\\\\",{"é":[');
    for (let size = 1; size < text.length; size++) {
      const meter = new JsonMeter({ depth: 10, values: 10 });
      for (let at = 0; at < text.length; at += size) meter.push(text.subarray(at, at + size));
      expect({ values: meter.values, excess: meter.excess }).toEqual({ values: 5, excess: undefined });
    }
  });

  test("starts over with each text", () => {
    const meter = new JsonMeter(limits);
    for (let count = 0; count < 10; count++) {
      meter.push(Buffer.from('[[["unfinished'));
      meter.reset();
    }
    expect(meter.excess).toBeUndefined();
  });
});
