import { expect, test } from "vitest";
import { parseDockerfile } from "../../src/dockerfiles/parse.ts";
import { pinImages } from "../../src/dockerfiles/pin-images.ts";

const digest = `sha256:${"a".repeat(64)}`;

function pin(lines: string[], args: Record<string, string> = {}): string[] | undefined {
  const text = lines.join("\n");
  const file = parseDockerfile(text, { path: "Dockerfile", args });
  const references = file.stages.flatMap(({ base, sources }) =>
    [base, ...sources.values()].flatMap((source) => ("image" in source ? [source.image] : [])),
  );
  const images = new Map(references.map((reference) => [reference, { reference, digest }]));
  return pinImages({ file, text, images })?.split("\n");
}

test("images are named with their digests, and lines keep their numbers", () => {
  const lines = [
    "ARG TAG=1",
    "FROM --platform=$TARGETPLATFORM registry.example.com/base:$TAG \\",
    "  AS Build",
    "RUN --mount=from=tools:2,target=/tools \\",
    "  --mount=type=bind,target=/other,from=tools:2 echo from=tools:2x && echo tools:2",
    "FROM build",
    "COPY --from=registry.example.com/base:1 /a /b",
    "COPY --from=build /a /b",
    "COPY --from=0 /a /b",
  ];
  const pinned = `@${digest}`;
  expect(pin(lines)).toEqual([
    "ARG TAG=1",
    `FROM registry.example.com/base${pinned} AS build`,
    "",
    expect.stringMatching(new RegExp(`^RUN --mount=from=\\S*tools${pinned},target=/tools \\\\$`)),
    expect.stringMatching(new RegExp(`from=\\S*tools${pinned} echo from=tools:2x && echo tools:2$`)),
    "FROM build",
    `COPY --from=registry.example.com/base${pinned} /a /b`,
    "COPY --from=build /a /b",
    "COPY --from=0 /a /b",
  ]);
});

test("stages that are not needed and the bodies of heredocs stay as they are", () => {
  const lines = [
    "FROM other:1 AS unused",
    "FROM a:1",
    "COPY --from=b:1 <<EOF /x /y/",
    "COPY --from=b:1 /x /y",
    "FROM a:1",
    "EOF",
  ];
  const result = pin(lines) ?? [];
  expect(result[0]).toBe(lines[0]);
  expect(result.slice(3)).toEqual(lines.slice(3));
});

test("no image interprets the file, and other directives keep their effect", () => {
  const lines = ["# syntax=docker/dockerfile:1", "# escape=`", "FROM a:1", "RUN echo `", "  one"];
  expect(pin(lines)?.slice(0, 2)).toEqual(["# escape=`", "#"]);
  expect(pin(lines)?.slice(3)).toEqual(lines.slice(3));
  const comment = ["# a comment", "# syntax=docker/dockerfile:1", "FROM a:1"];
  expect(pin(comment)?.slice(0, 2)).toEqual(comment.slice(0, 2));
});

test("a name that a line break divides is reported", () => {
  expect(pin(["FROM a:1", "COPY --from=to\\", "ols:1 /a /b"])).toBeUndefined();
});
