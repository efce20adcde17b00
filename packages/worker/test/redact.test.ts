import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Redactor } from "../src/redact.ts";

const secret = "s3cr3t-Väl+ue/with?=signs";

/** Everything that is put out when the text comes cut at these places. */
function streamed(redactor: Redactor, text: string, cuts: number[]): string {
  const stream = redactor.stream();
  const ends = [...cuts, text.length];
  return ends.map((end, index) => stream.push(text.slice(ends[index - 1] ?? 0, end))).join("") + stream.end();
}

/** A text that holds no form of the secret, with neighbours that do not give it away by their own change. */
const around = (form: string) => `before ${form} after`;

describe("a secret is masked", () => {
  test.each([
    ["as it is", secret],
    ["in hex", Buffer.from(secret).toString("hex")],
    ["in upper-case hex", Buffer.from(secret).toString("hex").toUpperCase()],
    ["URL-encoded", encodeURIComponent(secret)],
    ["URL-encoded in lower case", encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase())],
  ])("%s", (_, form) => {
    expect(new Redactor([secret]).text(around(form))).toBe("before *** after");
  });

  test("on as many lines as before, where somebody asks for that", () => {
    const encoded = Buffer.from(`some words and ${secret} and more`).toString("base64");
    const wrapped = `one\n${encoded.slice(0, 30)}\n${encoded.slice(30)}\nfour ${secret}`;
    const masked = new Redactor([secret]).lines(wrapped);
    expect(masked.split("\n")).toHaveLength(4);
    expect(masked).toMatch(/^one\n.*\*\*\*\n.*\nfour \*\*\*$/);
    expect(new Redactor([secret]).text(masked)).toBe(masked);
  });

  test("as a form sends it, with plus signs for spaces", () => {
    const redactor = new Redactor(["pass word! (x)"]);
    expect(
      redactor.text(`?password=${new URLSearchParams({ p: "pass word! (x)" }).toString().slice(2)}&`),
    ).toBe("?password=***&");
  });

  test.each(["base64", "base64url"] as const)("in %s, wherever it stands in what was encoded", (encoding) => {
    const redactor = new Redactor([secret]);
    for (let before = 0; before < 9; before++) {
      for (let after = 0; after < 4; after++) {
        const whole = Buffer.from(`${"<".repeat(before)}${secret}${">".repeat(after)}`).toString(encoding);
        const clean = redactor.text(whole);
        expect(clean).toContain("***");
        const left = Buffer.from(clean.split("***").join(""), encoding).toString();
        // A letter at each border may hold some bits of it; never one of its characters and a neighbour.
        expect(clean.length - "***".length).toBeLessThanOrEqual(Math.ceil(((before + after) * 4) / 3) + 4);
        expect(left).not.toContain(secret.slice(1, 4));
      }
    }
  });

  test.each(["+//+", "~~~???>>>"])("in url-safe base64, where the alphabets differ: %s", (part) => {
    const value = `key:${part}${part}:end`;
    expect(new Redactor([value]).text(Buffer.from(value).toString("base64url"))).toMatch(/^\*\*\*.?$/);
  });

  test("in base64 and hex that were broken into lines", () => {
    const long = `-----BEGIN KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC+/".repeat(6)}\n-----END KEY-----`;
    const redactor = new Redactor([long]);
    for (const [encoding, columns] of [
      ["base64", 76],
      ["hex", 60],
    ] as const) {
      const lines = Buffer.from(long)
        .toString(encoding)
        .replace(new RegExp(`.{${columns}}`, "g"), "$&\n");
      expect(redactor.text(lines)).toMatch(/^\*\*\*.?=*$/);
      for (let cut = 0; cut <= lines.length; cut += 5) {
        expect(streamed(redactor, lines, [cut])).toBe(redactor.text(lines));
      }
    }
  });

  test("in a patch, where each line of it begins with a mark", () => {
    const key = `-----BEGIN KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC+/\n".repeat(3)}end==\n-----END KEY-----\n`;
    const token = `${"github_pat_11ABCDEFG0".repeat(5)}`;
    const redactor = new Redactor([key, token]);
    const inPatch = (text: string, mark: string) => text.replaceAll(/^/gm, mark);
    const wrapped = (encoding: "base64" | "hex") =>
      Buffer.from(token).toString(encoding).replace(/.{60}/g, "$&\n");
    for (const mark of ["+", "-", " "]) {
      for (const text of [key.trim(), wrapped("base64"), wrapped("hex")].map((each) => inPatch(each, mark))) {
        expect(redactor.text(text).slice(1)).toMatch(/^\*\*\*.?=*$/);
        for (let cut = 0; cut <= text.length; cut++) {
          expect(streamed(redactor, text, [cut])).toBe(redactor.text(text));
        }
      }
    }
  });

  test("however long it is, without delay", () => {
    const key = `-----BEGIN KEY-----\n${randomBytes(48_000).toString("base64")}\n-----END KEY-----\n`;
    const began = performance.now();
    const redactor = new Redactor([key]);
    for (const encoding of ["base64", "hex", "utf8"] as const) {
      expect(redactor.text(around(Buffer.from(key).toString(encoding)))).toMatch(
        /^before \*\*\*.?.?=* ?after$/,
      );
    }
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test("line by line, where only some of its lines are shown or they are indented", () => {
    const key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKgwggSkAgEAAoIB\n-----END KEY-----";
    const redactor = new Redactor([key]);
    expect(redactor.text(key.split("\n")[2] as string)).toBe("***");
    expect(redactor.text(key.replaceAll("\n", "\n    "))).toMatch(
      /^-----BEGIN KEY-----\s+\*\*\*\s+\*\*\*\s+-----END KEY-----$/,
    );
  });

  test("without the line break at its end with which it was stored", () => {
    const redactor = new Redactor(["token-with-an-end\n"]);
    expect(redactor.text("<token-with-an-end>")).toBe("<***>");
    expect(redactor.text(`<${Buffer.from("token-with-an-end").toString("hex")}>`)).toBe("<***>");
  });

  test("as often as it stands there", () => {
    expect(new Redactor([secret]).text(`${secret}${secret} and ${secret}`)).toBe("****** and ***");
  });

  test("with characters that mean something in patterns", () => {
    const odd = "^a.b*c+d?(e)[f]{2}|g\\h$1$&";
    expect(new Redactor([odd]).text(around(odd))).toBe("before *** after");
    expect(new Redactor([odd]).text("aXbbbc")).toBe("aXbbbc");
  });

  test("in every text of a value, however deep, and nowhere else", () => {
    const value = { a: [secret, { b: `x${secret}` }], count: 3, ok: true, none: null };
    expect(new Redactor([secret]).all(value)).toEqual({
      a: ["***", { b: "x***" }],
      count: 3,
      ok: true,
      none: null,
    });
  });
});

describe("several secrets", () => {
  test("are all masked", () => {
    const redactor = new Redactor(["first-secret", "second-secret", ""]);
    expect(redactor.text("first-secret, second-secret")).toBe("***, ***");
  });

  test("of which one begins with another leave nothing of the longer one", () => {
    const redactor = new Redactor(["abcdefgh", "abcdefgh-12345"]);
    expect(redactor.text("abcdefgh-12345 abcdefgh")).toBe("*** ***");
  });

  test("that overlap are masked as one", () => {
    const redactor = new Redactor(["password-one", "one-two-three"]);
    expect(redactor.text("<password-one-two-three>")).toBe("<***>");
  });
});

describe("a secret that comes in pieces", () => {
  const encoded = Buffer.from(`user:${secret}`).toString("base64");
  const texts = [
    around(secret),
    around(encoded),
    around(Buffer.from(secret).toString("hex")),
    `${secret}${secret}`,
  ];

  test.each(texts)("is masked wherever it is cut once: %s", (text) => {
    const redactor = new Redactor([secret]);
    for (let cut = 0; cut <= text.length; cut++) {
      expect(streamed(redactor, text, [cut])).toBe(redactor.text(text));
    }
  });

  test.each(texts)("is masked wherever it is cut twice: %s", (text) => {
    const redactor = new Redactor([secret]);
    const whole = redactor.text(text);
    const wrong: number[][] = [];
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        if (streamed(redactor, text, [first, second]) !== whole) wrong.push([first, second]);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("is masked letter by letter", () => {
    const redactor = new Redactor([secret, "another"]);
    const text = `${around(secret)} another ${encoded}\n`;
    expect(
      streamed(
        redactor,
        text,
        [...text].map((_, index) => index),
      ),
    ).toBe(redactor.text(text));
  });

  test.each([
    ["begins with another", ["abcdefgh", "abcdefgh-12345"], "abcdefgh-12345 abcdefgh"],
    ["overlaps another", ["password-one", "one-two-three"], "<password-one-two-three> password-one"],
    ["repeats itself", ["aaaaaaaa"], `${"a".repeat(40)}b`],
  ])("is masked where it %s", (_, secrets, text) => {
    const redactor = new Redactor(secrets);
    for (let cut = 0; cut <= text.length; cut++) {
      expect(streamed(redactor, text, [cut])).toBe(redactor.text(text));
    }
    expect(
      streamed(
        redactor,
        text,
        [...text].map((_letter, index) => index),
      ),
    ).toBe(redactor.text(text));
  });
});

describe("nothing else is changed", () => {
  const text = "just output, *** and \u{1f600}, \r\n\0";

  test("without secrets", () => {
    const redactor = new Redactor([]);
    const value = { text, nested: [text] };
    expect(redactor.text(text)).toBe(text);
    expect(redactor.all(value)).toBe(value);
    const stream = redactor.stream();
    expect(stream.push(text)).toBe(text);
    expect(stream.end()).toBe("");
  });

  test("with secrets that do not occur", () => {
    const redactor = new Redactor([secret]);
    expect(redactor.text(text)).toBe(text);
    for (let cut = 0; cut <= text.length; cut++) expect(streamed(redactor, text, [cut])).toBe(text);
  });

  test("and what cannot become a secret is not held back", () => {
    const stream = new Redactor([secret]).stream();
    expect(stream.push("compiling …\n")).toBe("compiling …\n");
    expect(stream.push(`ready ${secret.slice(0, 5)}`)).toBe("ready ");
    expect(stream.push("!")).toBe(`${secret.slice(0, 5)}!`);
  });
});
