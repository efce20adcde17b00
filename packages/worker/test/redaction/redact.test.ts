import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Redactor } from "../../src/redaction/redact.ts";

const secret = "s3cr3t-Väl+ue/with?=signs";

/** The complete output for a text that is split at these positions. */
function streamed(redactor: Redactor, text: string, cuts: number[]): string {
  const stream = redactor.stream();
  const ends = [...cuts, text.length];
  return ends.map((end, index) => stream.push(text.slice(ends[index - 1] ?? 0, end))).join("") + stream.end();
}

/** Surrounds a form with text that must not change. */
const around = (form: string) => `before ${form} after`;

describe("a secret is masked", () => {
  test.each([
    ["as it is", secret],
    ["in hex", Buffer.from(secret).toString("hex")],
    ["in upper-case hex", Buffer.from(secret).toString("hex").toUpperCase()],
    ["URL-encoded", encodeURIComponent(secret)],
    ["URL-encoded in lower case", encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase())],
  ])("%s", (_, form) => {
    expect(new Redactor([secret]).redact(around(form))).toBe("before *** after");
  });

  test.each([" ", ":", ", ", "-", "\n", "\r\n    ", "\\n"])("in hex with %j between bytes", (separator) => {
    const form = [...Buffer.from(secret)].map((byte) => byte.toString(16).padStart(2, "0")).join(separator);
    expect(new Redactor([secret]).redact(around(form))).toBe("before *** after");
  });

  test("without changing the number of lines, if requested", () => {
    const encoded = Buffer.from(`some words and ${secret} and more`).toString("base64");
    const wrapped = `one\n${encoded.slice(0, 30)}\n${encoded.slice(30)}\nfour ${secret}`;
    const masked = new Redactor([secret]).redactLines(wrapped);
    expect(masked.split("\n")).toHaveLength(4);
    expect(masked).toMatch(/^one\n.*\*\*\*\n.*\nfour \*\*\*$/);
    expect(new Redactor([secret]).redact(masked)).toBe(masked);
  });

  test("without changing the number of added and removed lines of a patch", () => {
    const key = `-----BEGIN KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC+/\n".repeat(3)}-----END KEY-----\n`;
    const patch = `--- a/key\n+++ b/key\n@@ -1,5 +1,6 @@\n${key.replaceAll(/^(?=.)/gm, "-")}${`first\n${key}`.replaceAll(/^(?=.)/gm, "+")}`;
    expect(new Redactor([key]).redactPatch(patch)).toBe(
      "--- a/key\n+++ b/key\n@@ -1,5 +1,6 @@\n-***\n-\n-\n-\n-\n+first\n+***\n+\n+\n+\n+\n",
    );
  });

  test("even if it is longer than a piece, and only a part of it appears", () => {
    const long = randomBytes(5_000).toString("base64");
    const redactor = new Redactor([long]);
    expect(redactor.redact(around(long))).toBe("before *** after");
    expect(redactor.redact(around(Buffer.from(long).toString("hex")))).toBe("before *** after");
    expect(redactor.redact(around(long.slice(0, 2_000)))).toMatch(/^before \*\*\*.{976} after$/);
  });

  test("form-encoded, with plus signs for spaces", () => {
    const redactor = new Redactor(["pass word! (x)"]);
    expect(
      redactor.redact(`?password=${new URLSearchParams({ p: "pass word! (x)" }).toString().slice(2)}&`),
    ).toBe("?password=***&");
  });

  test.each(["base64", "base64url"] as const)("in %s at any offset in the encoded data", (encoding) => {
    const redactor = new Redactor([secret]);
    for (let before = 0; before < 9; before++) {
      for (let after = 0; after < 4; after++) {
        const whole = Buffer.from(`${"<".repeat(before)}${secret}${">".repeat(after)}`).toString(encoding);
        const clean = redactor.redact(whole);
        expect(clean).toContain("***");
        const left = Buffer.from(clean.split("***").join(""), encoding).toString();
        // A character at each border may contain some bits of the secret, but never a whole character of it.
        expect(clean.length - "***".length).toBeLessThanOrEqual(Math.ceil(((before + after) * 4) / 3) + 4);
        expect(left).not.toContain(secret.slice(1, 4));
      }
    }
  });

  test.each(["+//+", "~~~???>>>"])("in URL-safe base64, where the alphabets differ: %s", (part) => {
    const value = `key:${part}${part}:end`;
    expect(new Redactor([value]).redact(Buffer.from(value).toString("base64url"))).toMatch(/^\*\*\*.?$/);
  });

  test("in base64 and hex with line breaks", () => {
    const long = `-----BEGIN KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC+/".repeat(6)}\n-----END KEY-----`;
    const redactor = new Redactor([long]);
    for (const [encoding, columns] of [
      ["base64", 76],
      ["hex", 60],
    ] as const) {
      const lines = Buffer.from(long)
        .toString(encoding)
        .replace(new RegExp(`.{${columns}}`, "g"), "$&\n");
      expect(redactor.redact(lines)).toMatch(/^\*\*\*.?=*$/);
      for (let cut = 0; cut <= lines.length; cut += 5) {
        expect(streamed(redactor, lines, [cut])).toBe(redactor.redact(lines));
      }
    }
  });

  test("in a patch, where each line starts with a marker", () => {
    const key = `-----BEGIN KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC+/\n".repeat(3)}end==\n-----END KEY-----\n`;
    const token = `${"github_pat_11ABCDEFG0".repeat(5)}`;
    const redactor = new Redactor([key, token]);
    const inPatch = (text: string, mark: string) => text.replaceAll(/^/gm, mark);
    const wrapped = (encoding: "base64" | "hex") =>
      Buffer.from(token).toString(encoding).replace(/.{60}/g, "$&\n");
    for (const mark of ["+", "-", " "]) {
      for (const text of [key.trim(), wrapped("base64"), wrapped("hex")].map((each) => inPatch(each, mark))) {
        expect(redactor.redact(text).slice(1)).toMatch(/^\*\*\*.?=*$/);
        for (let cut = 0; cut <= text.length; cut++) {
          expect(streamed(redactor, text, [cut])).toBe(redactor.redact(text));
        }
      }
    }
  });

  test("quickly, even if it is very long", () => {
    const key = `-----BEGIN KEY-----\n${randomBytes(48_000).toString("base64")}\n-----END KEY-----\n`;
    const redactor = new Redactor([key]);
    for (const encoding of ["base64", "hex", "utf8"] as const) {
      expect(redactor.redact(around(Buffer.from(key).toString(encoding)))).toMatch(
        /^before \*\*\*.?.?=* ?after$/,
      );
    }
  });

  test("line by line, if only some of its lines appear or they are indented", () => {
    const key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKgwggSkAgEAAoIB\n-----END KEY-----";
    const redactor = new Redactor([key]);
    expect(redactor.redact(key.split("\n")[2] as string)).toBe("***");
    expect(redactor.redact(key.replaceAll("\n", "\n    "))).toMatch(
      /^-----BEGIN KEY-----\s+\*\*\*\s+\*\*\*\s+-----END KEY-----$/,
    );
  });

  test("without the trailing line break with which it was stored", () => {
    const redactor = new Redactor(["token-with-an-end\n"]);
    expect(redactor.redact("<token-with-an-end>")).toBe("<***>");
    expect(redactor.redact(`<${Buffer.from("token-with-an-end").toString("hex")}>`)).toBe("<***>");
  });

  test("at every occurrence", () => {
    expect(new Redactor([secret]).redact(`${secret}${secret} and ${secret}`)).toBe("****** and ***");
  });

  test("with characters that are special in regular expressions", () => {
    const odd = "^a.b*c+d?(e)[f]{2}|g\\h$1$&";
    expect(new Redactor([odd]).redact(around(odd))).toBe("before *** after");
    expect(new Redactor([odd]).redact("aXbbbc")).toBe("aXbbbc");
  });

  test("in every string and key of a nested value, and nowhere else", () => {
    const value = { a: [secret, { b: `x${secret}`, [secret]: 1 }], count: 3, ok: true, none: null };
    expect(new Redactor([secret]).redactAll(value)).toEqual({
      a: ["***", { b: "x***", "***": 1 }],
      count: 3,
      ok: true,
      none: null,
    });
  });
});

describe("the fields of an object", () => {
  test("keep their names even if a secret has the same value", () => {
    expect(new Redactor(["instructions"]).redactAll({ instructions: "instructions" })).toEqual({
      instructions: "***",
    });
  });
});

describe("a binary file", () => {
  const bytes = (text: string) => Buffer.concat([Buffer.from([0x89, 0xff, 0]), Buffer.from(text)]);

  test("is changed only if it contains a secret", () => {
    for (const value of [secret, "pässword-ñ"]) {
      const redactor = new Redactor([value]);
      const data = bytes("nothing");
      expect(redactor.redactBytes(data)).toBe(data);
      expect(redactor.redactBytes(bytes(`a ${value} b`))).toEqual(bytes("a *** b"));
    }
    expect(new Redactor(["open-sesame"]).redactBytes(bytes("open-sesame"))).toEqual(bytes("***"));
  });
});

describe("several secrets", () => {
  test("are all masked", () => {
    const redactor = new Redactor(["first-secret", "second-secret", ""]);
    expect(redactor.redact("first-secret, second-secret")).toBe("***, ***");
  });

  test("with a common prefix are masked completely", () => {
    const redactor = new Redactor(["abcdefgh", "abcdefgh-12345"]);
    expect(redactor.redact("abcdefgh-12345 abcdefgh")).toBe("*** ***");
  });

  test("that overlap are masked as one", () => {
    const redactor = new Redactor(["password-one", "one-two-three"]);
    expect(redactor.redact("<password-one-two-three>")).toBe("<***>");
  });
});

describe("a secret split across chunks", () => {
  const encoded = Buffer.from(`user:${secret}`).toString("base64");
  const texts = [
    around(secret),
    around(encoded),
    around(Buffer.from(secret).toString("hex")),
    `${secret}${secret}`,
  ];

  test.each(texts)("is masked when split once at any position: %s", (text) => {
    const redactor = new Redactor([secret]);
    for (let cut = 0; cut <= text.length; cut++) {
      expect(streamed(redactor, text, [cut])).toBe(redactor.redact(text));
    }
  });

  test.each(texts)("is masked when split twice at any positions: %s", (text) => {
    const redactor = new Redactor([secret]);
    const whole = redactor.redact(text);
    const wrong: number[][] = [];
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        if (streamed(redactor, text, [first, second]) !== whole) wrong.push([first, second]);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("is masked when it arrives character by character", () => {
    const redactor = new Redactor([secret, "another"]);
    const text = `${around(secret)} another ${encoded}\n`;
    expect(
      streamed(
        redactor,
        text,
        [...text].map((_, index) => index),
      ),
    ).toBe(redactor.redact(text));
  });

  test.each([
    ["begins with another", ["abcdefgh", "abcdefgh-12345"], "abcdefgh-12345 abcdefgh"],
    ["overlaps another", ["password-one", "one-two-three"], "<password-one-two-three> password-one"],
    ["repeats itself", ["aaaaaaaa"], `${"a".repeat(40)}b`],
  ])("is masked if it %s", (_, secrets, text) => {
    const redactor = new Redactor(secrets);
    for (let cut = 0; cut <= text.length; cut++) {
      expect(streamed(redactor, text, [cut])).toBe(redactor.redact(text));
    }
    expect(
      streamed(
        redactor,
        text,
        [...text].map((_letter, index) => index),
      ),
    ).toBe(redactor.redact(text));
  });
});

describe("nothing else is changed", () => {
  const text = "just output, *** and \u{1f600}, \r\n\0";

  test("without secrets", () => {
    const redactor = new Redactor([]);
    const value = { text, nested: [text] };
    expect(redactor.redact(text)).toBe(text);
    expect(redactor.redactAll(value)).toBe(value);
    const stream = redactor.stream();
    expect(stream.push(text)).toBe(text);
    expect(stream.end()).toBe("");
  });

  test("with secrets that do not occur", () => {
    const redactor = new Redactor([secret]);
    expect(redactor.redact(text)).toBe(text);
    for (let cut = 0; cut <= text.length; cut++) expect(streamed(redactor, text, [cut])).toBe(text);
  });

  test("and text that cannot become a secret is not held back", () => {
    const stream = new Redactor([secret]).stream();
    expect(stream.push("compiling …\n")).toBe("compiling …\n");
    expect(stream.push(`ready ${secret.slice(0, 5)}`)).toBe("ready ");
    expect(stream.push("!")).toBe(`${secret.slice(0, 5)}!`);
  });
});
