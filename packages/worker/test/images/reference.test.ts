import { describe, expect, test } from "vitest";
import { parseChallenges } from "../../src/images/challenge.ts";
import { parseCredentials } from "../../src/images/credentials.ts";
import { parseReference } from "../../src/images/reference.ts";

const digest = `sha256:${"a".repeat(64)}`;

describe("a reference", () => {
  test.each([
    ["debian", "docker.io/library/debian:latest"],
    ["debian:12", "docker.io/library/debian:12"],
    ["acme/ci", "docker.io/acme/ci:latest"],
    ["docker.io/debian", "docker.io/library/debian:latest"],
    ["index.docker.io/acme/ci:1", "docker.io/acme/ci:1"],
    ["localhost/x", "localhost/x:latest"],
    ["localhost:5000/x", "localhost:5000/x:latest"],
    ["[::1]:5000/x:y", "[::1]:5000/x:y"],
    [`ghcr.io/acme/ci@${digest}`, `ghcr.io/acme/ci@${digest}`],
    [`ghcr.io/acme/team/ci:v1@${digest}`, `ghcr.io/acme/team/ci:v1@${digest}`],
    ["registry.example.com/a__b/c-d.e:V_1.0", "registry.example.com/a__b/c-d.e:V_1.0"],
  ])("%s is %s", (text, complete) => {
    expect(parseReference(text).text).toBe(complete);
  });

  test("has no tag if it has only a digest", () => {
    expect(parseReference(`a/b@${digest}`)).toMatchObject({
      registry: "docker.io",
      repository: "a/b",
      tag: undefined,
      digest,
    });
  });

  test.each([
    ["", "it has no name"],
    ["https://ghcr.io/a/b", "must not start with a protocol"],
    ["Debian", "must be in lower case"],
    ["debian:", "its tag must have"],
    ["debian:a b", "its tag must have"],
    [`debian:${"x".repeat(129)}`, "its tag must have"],
    ["debian@sha256:abc", "its digest must be"],
    [`debian@sha512:${"a".repeat(128)}`, "its digest must be"],
    ["a//b", "characters that are not allowed"],
    ["../x", "is not a registry"],
    ["a/../b", "characters that are not allowed"],
    ["user@host/x", "its digest must be"],
    ["host.example:99999/x", "is not a registry"],
    ["a b", "characters that are not allowed"],
    ["a?b", "characters that are not allowed"],
    ["x".repeat(600), "more than 512 characters"],
  ])("%j is rejected: %s", (text, problem) => {
    expect(() => parseReference(text)).toThrow(problem);
  });
});

describe("credentials", () => {
  const basic = (text: string) => ({ auth: Buffer.from(text).toString("base64") });

  test("are a user and a token, which may contain colons", () => {
    expect(parseCredentials(" me:a:b\n", "ghcr.io")).toEqual({ username: "me", password: "a:b" });
  });

  test.each([
    ["ghcr.io", "ghcr.io"],
    ["https://ghcr.io", "ghcr.io"],
    ["https://index.docker.io/v1/", "docker.io"],
    ["localhost:5000", "localhost:5000"],
  ])("for %s in Docker's configuration belong to %s", (key, registry) => {
    const text = JSON.stringify({ auths: { "other.example": basic("x:y"), [key]: basic("me:secret") } });
    expect(parseCredentials(text, registry)).toEqual({ username: "me", password: "secret" });
    expect(parseCredentials(text, "third.example")).toBeUndefined();
  });

  test("in Docker's configuration can have fields for user and password", () => {
    const text = JSON.stringify({ auths: { a: { username: "me", password: "secret" } } });
    expect(parseCredentials(text, "a")).toEqual({ username: "me", password: "secret" });
  });

  test.each([
    "hunter2",
    ":hunter2",
    "hunter2:",
    "{hunter2",
    '{"auths":"hunter2"}',
    '{"auths":{"ghcr.io":{"identitytoken":"hunter2"}}}',
    '{"auths":{"ghcr.io":{}}}',
    '{"auths":{"ghcr.io":null}}',
    `{"auths":${"[".repeat(100)}"hunter2"${"]".repeat(100)}}`,
  ])("%j are rejected without being quoted", (text) => {
    expect(() => parseCredentials(text, "ghcr.io")).toThrow(/^(?!.*hunter2).*credentials/);
  });
});

test("parses the challenges of a registry", () => {
  const header =
    'Basic realm="a, b", Bearer realm="https://auth.example/token",service="a \\"b\\"",scope=pull , Negotiate';
  expect(
    parseChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]),
  ).toEqual([
    ["basic", { realm: "a, b" }],
    ["bearer", { realm: "https://auth.example/token", service: 'a "b"', scope: "pull" }],
    ["negotiate", {}],
  ]);
  expect(parseChallenges(`Bearer realm="${"a".repeat(100_000)}`)).toHaveLength(1);
  expect(parseChallenges('="')).toEqual([]);
});
