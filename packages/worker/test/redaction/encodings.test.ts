import { describe, expect, test } from "vitest";
import { Redactor } from "../../src/redaction/redact.ts";
import { canBeDumpLine, parseDumpLine } from "../../src/redaction/views/dump-line.ts";
import { awkwardSecrets, encode, encoders } from "./encodings-support.ts";
import { redactInChunks, seededRandom } from "./random-texts.ts";

/** What an encoder adds to the secret: quotes, a variable's name, or the offsets of a dump's first and last line. */
const MAX_SYNTAX = 40;

const redacted = (redactor: Redactor, bytes: Buffer) => Buffer.from(redactor.redactBytes(bytes)).toString();

describe.each(Object.entries(awkwardSecrets))("%s", (_, secret) => {
  const encoded = encode(secret);
  const redactor = new Redactor([secret]);

  test.each(Object.keys(encoders))("is masked in the output of %s", (name) => {
    const text = redacted(redactor, encoded.get(name) as Buffer);
    const lines = text.split("\n").filter((line) => !/^declare -x (?!S=)/.test(line));
    const rest = lines.join("\n").replaceAll(/ +/g, " ");
    expect(rest.split("***")).toHaveLength(2);
    expect(rest.length).toBeLessThan(MAX_SYNTAX);
  });

  test("is masked alike for any chunking of the outputs", () => {
    const random = seededRandom(secret);
    const whole = Buffer.concat([...encoded.values()]);
    for (const average of [1, 40]) {
      const chunked = redactInChunks(redactor.byteStream(), whole, { average, random });
      expect(chunked.toString()).toBe(redacted(redactor, whole));
    }
  });

  test("is not found in the same outputs of another secret", () => {
    const other = new Redactor([[...secret].reverse().join("")]);
    for (const output of encoded.values()) expect(other.redactBytes(output)).toBe(output);
  });

  test("has dumps whose lines are recognized from their beginnings", () => {
    for (const output of encoded.values()) {
      for (const line of output.toString("latin1").split("\n")) {
        if (!parseDumpLine(line)) continue;
        for (let end = 0; end <= line.length; end++) expect(canBeDumpLine(line.slice(0, end))).toBe(true);
      }
    }
  });
});

test("a dump's other bytes remain", () => {
  const secret = "s3cr3t-of-twenty-one!";
  const text = `${"x".repeat(40)}${secret}${"y".repeat(40)}`;
  const lines = redacted(new Redactor([secret]), encode(text).get("xxd") as Buffer).split("\n");
  expect(lines).toEqual([
    "00000000: 7878 7878 7878 7878 7878 7878 7878 7878  xxxxxxxxxxxxxxxx",
    "00000010: 7878 7878 7878 7878 7878 7878 7878 7878  xxxxxxxxxxxxxxxx",
    "00000020: 7878 7878 7878 7878 ***",
    "00000040: 7979 7979 7979 7979 7979 7979 7979 7979  yyyyyyyyyyyyyyyy",
    "00000050: 7979 7979 7979 7979 7979 7979 7979 7979  yyyyyyyyyyyyyyyy",
    "00000060: 7979 7979 79                             yyyyy",
    "",
  ]);
});

describe("ordinary text", () => {
  test.each([
    ["a column of letters", "a b c d e f g h", "a\nb\nc\nd\ne\nf\ng\nh"],
    ["spelled-out words", "abcdefgh", "a b c d e f g h\nab cd ef gh\na-b-c-d-e-f-g-h"],
    ["escaped letters that mean something else", "abcdefgh", "\\abcdefg %abcdefg &abcdefg;"],
    ["numbers", "12345678", "1234 5678\n1234\n5678\n12,345,678\n0000000 1234 5678"],
  ])("is not changed: %s", (_, secret, text) => {
    expect(new Redactor([secret.replaceAll(" ", "")]).redact(text)).toBe(text);
  });
});
