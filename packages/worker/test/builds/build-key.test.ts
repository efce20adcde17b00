import { expect, test } from "vitest";
import { buildKey } from "../../src/builds/build.ts";

const environment = {
  environment_id: "01890000-0000-7000-8000-000000000000",
  version: 1,
  repos: [],
  setup_commands: ["npm ci"],
  network: { mode: "none" as const },
  credentials: {},
};
const inputs = { repositories: [], image: undefined, devcontainer: undefined };

test("builds of different kinds of sandboxes have different keys", () => {
  const keys = ["local", "docker", "other"].map((kind) => buildKey(environment, inputs, kind));
  expect(new Set(keys).size).toBe(3);
  expect(buildKey(environment, inputs, "docker")).toBe(keys[1]);
});

test("local builds have the keys that they had before there were other kinds", () => {
  expect(buildKey(environment, inputs, "local")).toBe(
    "932f8fddb518a44e9bdbb5a8c6a89ed042c70bc489906ab238cfd78bd8b8c62a",
  );
});
