import { expect, test } from "vitest";
import { parseDockerfile } from "../../src/dockerfiles/parse.ts";
import { expandText, expandWord, splitWords } from "../../src/dockerfiles/words.ts";

type Options = Partial<Parameters<typeof parseDockerfile>[1]>;
const parse = (text: string, options: Options = {}) =>
  parseDockerfile(text, { path: "Dockerfile", ...options });
/** The only stage's instructions, after `FROM debian:12`. */
const instructionsOf = (text: string) => parse(`FROM debian:12\n${text}`).stages[0]?.instructions ?? [];

function problemOf(text: string, options: Options = {}): string {
  try {
    parse(text, options);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("The file was accepted.");
}

test("lines are continued, and comments between them are left out", () => {
  const lines = [
    "run apt-get update && \\",
    "  # a comment",
    "",
    "  apt-get install -y \\  ",
    "  curl",
    "RUN echo \\\\",
  ];
  expect(instructionsOf(lines.join("\n"))).toMatchObject([
    { type: "run", line: 2, command: { script: "apt-get update &&   apt-get install -y   curl" } },
    { type: "run", line: 7, command: { script: "echo \\\\" } },
  ]);
  const other = parse("# escape=`\n# syntax=docker/dockerfile:1\nFROM debian:12\r\nRUN echo `\r\n  C:\\\r\n");
  expect(other.stages[0]?.instructions).toMatchObject([{ line: 4, command: { script: "echo   C:\\" } }]);
});

test("heredocs are scripts, parts of scripts, or files", () => {
  const text = [
    "RUN <<EOF",
    "echo one",
    "  # not a comment",
    "EOF",
    "RUN python3 <<-'END' > /x && echo 1 << 2 <<< 3 \"<<NO\"",
    "\tprint(1)",
    "\tEND",
    'COPY --chown=a:b <<one.txt <<"two.txt" /etc/',
    "1 $A",
    "one.txt",
    "2 $A",
    "two.txt",
    "RUN true",
  ];
  expect(instructionsOf(text.join("\n"))).toMatchObject([
    { line: 2, command: { script: "echo one\n  # not a comment\n" } },
    {
      line: 6,
      command: { script: "python3 <<-'END' > /x && echo 1 << 2 <<< 3 \"<<NO\"\n\tprint(1)\n\tEND" },
    },
    {
      ...{ type: "copy", sources: [], target: "/etc/", owner: "a:b" },
      files: [
        { name: "one.txt", content: "1 $A\n", expands: true },
        { name: "two.txt", content: "2 $A\n", expands: false },
      ],
    },
    { line: 14, command: { script: "true" } },
  ]);
});

test("instructions have a form as words and one as JSON", () => {
  const text = `RUN ["sh", "-c", "a b"]
    RUN [ -f /x ]
    COPY ["a b", "c", "/to/"]
    ENV A=1 B="two words" C=three\\ words
    ENV OLD the rest  of it
    ARG X Y=1
    SHELL ["/bin/bash", "-c"]
    RUN --mount=type=cache,target=/c,uid=5 --mount=type=secret,id=T,env=TOKEN,required make`;
  expect(instructionsOf(text)).toMatchObject([
    { command: ["sh", "-c", "a b"] },
    { command: { script: "[ -f /x ]" } },
    { sources: ["a b", "c"], target: "/to/" },
    {
      pairs: [
        ["A", "1"],
        ["B", '"two words"'],
        ["C", "three\\ words"],
      ],
    },
    { pairs: [["OLD", "the rest  of it"]] },
    {
      pairs: [
        ["X", undefined],
        ["Y", "1"],
      ],
    },
    { words: ["/bin/bash", "-c"] },
    {
      command: { script: "make" },
      mounts: [
        { type: "cache", target: "/c", owner: "5:0" },
        { type: "secret", id: "T", env: "TOKEN", isRequired: true, target: undefined },
      ],
    },
  ]);
});

test("variables are replaced as in Docker", () => {
  const values: Record<string, string> = { A: "a", EMPTY: "", PATH: "/bin" };
  const options = { escapeCharacter: "\\", lookup: (name: string) => values[name] };
  const expected = {
    "$A-${A}-$NO": "a-a-",
    "${NO:-x}${EMPTY:-x}${EMPTY-x}${A:-x}": "xxa",
    "${A:+y}${NO:+y}${EMPTY+y}": "yy",
    "${NO:-${A}/${NO:-deep}}": "a/deep",
    "'$A' \"$A\" \\$A": "$A a $A",
    '"a\\"b\\n" c\\ d': 'a"b\\n c d',
    "/x:$PATH": "/x:/bin",
    "5$": "5$",
  };
  for (const [word, result] of Object.entries(expected)) expect(expandWord(word, options)).toBe(result);
  expect(expandText(`it's "$A" \\$A \\n\n`, options)).toBe(`it's "a" $A \\n\n`);
  expect(() => expandWord("${A#x}", options)).toThrow("is not supported");
  expect(() => expandWord("${NO:?set it}", options)).toThrow("The variable NO is not set: set it.");
  expect(() => expandWord("'a", options)).toThrow("is not closed");
  expect(splitWords(`a "b c" d\\ e 'f "g'`, "\\")).toEqual(["a", '"b c"', "d\\ e", `'f "g'`]);
});

test("only the stages that the target needs are built", () => {
  const text = `ARG VERSION=12
    ARG IMAGE=debian:\${VERSION}
    FROM --platform=$BUILDPLATFORM $IMAGE AS Base
    FROM base AS tools
    FROM alpine:3 AS unused
    FROM ghcr.io/acme/app AS test
    COPY --from=0 /a /b
    FROM base
    COPY --from=tools /x /y
    COPY --from=busybox:1 /z /z
    CMD ["serve"]`;
  const file = parse(text);
  expect(file.stages.map(({ index }) => index)).toEqual([0, 1, 4]);
  expect(file.stages.map(({ base }) => base)).toEqual([{ image: "debian:12" }, { stage: 0 }, { stage: 0 }]);
  expect([...(file.stages.at(-1)?.sources ?? [])]).toEqual([
    ["tools", { stage: 1 }],
    ["busybox:1", { image: "busybox:1" }],
  ]);
  expect(file.notices).toEqual(["Dockerfile: CMD has no effect: start services in `start_commands`."]);
  const test = parse(text, { target: "TEST", args: { VERSION: "13", OTHER: "x" } });
  expect(test.stages.map(({ base }) => base)).toEqual([
    { image: "debian:13" },
    { image: "ghcr.io/acme/app" },
  ]);
  expect(test.notices).toEqual(["Dockerfile: no ARG declares `OTHER`, so it has no effect."]);
});

test.each([
  ["", "Dockerfile: The file has no FROM."],
  ["RUN x\nFROM a", "Dockerfile line 1: RUN is before the first FROM."],
  [
    "FROM scratch",
    "Dockerfile line 1: FROM scratch is not supported: commands need a system. Name an image.",
  ],
  [
    "FROM $NONE",
    "Dockerfile line 1: The image is empty: give its ARG a default, or set it in `args` of `dockerfile`.",
  ],
  [
    "FROM --platform=linux/s390x a",
    /^Dockerfile line 1: This worker only runs images for linux\/\w+, not for linux\/s390x\.$/,
  ],
  ["FROM a b", "Dockerfile line 1: FROM must have the form FROM image AS name."],
  ["FROM a\nNOPE x", "Dockerfile line 2: The instruction NOPE is not known."],
  [
    "FROM a\n\nADD https://x.test/a /a",
    "Dockerfile line 3: ADD does not download https://x.test/a: use RUN curl or RUN git.",
  ],
  [
    "FROM a\nONBUILD RUN x",
    "Dockerfile line 2: ONBUILD is not supported: write the instruction where it is needed.",
  ],
  ["FROM a\nRUN --mount=type=ssh x", /type=ssh is not supported: sandboxes have no SSH agent/],
  ["FROM a\nRUN --mount=source=/x x", /type=bind needs a target\.$/],
  ["FROM a\nRUN --network=host x", /RUN --network is not supported: the environment's `network`/],
  ["FROM a\nRUN --security=insecure x", /RUN --security is not supported: sandboxes are never privileged\.$/],
  ["FROM a\nCOPY --parents a /b/", /COPY --parents is not supported/],
  [
    "FROM a\nCOPY a b /c",
    "Dockerfile line 2: COPY has several sources, so its target must be a folder and end with /.",
  ],
  ["FROM a\nCOPY a", /COPY needs between 1 and 1000 sources and a target/],
  ["FROM a\nCOPY --from=Nope! a /b", /"Nope!" is not an image/],
  ["FROM a\nRUN <<EOF\nx", "Dockerfile line 2: The heredoc has no end: add a line with only EOF."],
  ["FROM a\nENV 1A=2", "Dockerfile line 2: 1A is not a valid name of a variable."],
  ["FROM a\nSHELL bash", /SHELL must be a JSON list/],
  ["FROM a\nRUN", "Dockerfile line 2: RUN has no arguments."],
  ["# escape=x\nFROM a", "Dockerfile line 1: The escape character must be \\ or `."],
])("%j is refused", (text, message) => {
  if (typeof message === "string") expect(problemOf(text)).toBe(message);
  else expect(problemOf(text)).toMatch(message);
});

test("a hostile file is bounded", () => {
  expect(problemOf("#".repeat(300_000))).toContain("larger than 256 KiB");
  expect(problemOf(`FROM a\n${"RUN x\n".repeat(1_001)}`)).toContain("more than 1000 instructions");
  expect(problemOf("FROM a\n".repeat(51))).toContain("more than 50 stages");
  expect(problemOf("FROM a", { target: "b" })).toBe("Dockerfile: The file has no stage b.");
  expect(problemOf("FROM a\0")).toContain("not text");
  const growing = Array.from({ length: 30 }, (_, i) => `ARG A${i + 1}=$A${i}$A${i}`).join("\n");
  expect(problemOf(`ARG A0=xx\n${growing}\nFROM $A30`)).toMatch(/line \d+: A value is longer than 32768/);
  expect(problemOf(`FROM ${"${A:-".repeat(50)}`)).toContain("more than 10 levels deep");
  // These would take minutes if the time were quadratic.
  parse(`FROM a\nRUN ${"a\\\n".repeat(60_000)}`);
  parse(`FROM a\nENV A=${"$B".repeat(60_000)}`);
  parse(`FROM a\nCOPY ${"a".repeat(120_000)}${" ".repeat(100_000)}/b`);
});
