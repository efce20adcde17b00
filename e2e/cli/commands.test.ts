import { expect, test } from "vitest";
import { operations } from "../../packages/cli/test/operations.ts";
import { covered } from "./commands/installation.ts";
import "./commands/runs.ts";
import "./commands/changes.ts";
import "./commands/queries.ts";
import "./commands/environments.ts";
import "./commands/administration.ts";
import "./commands/models.ts";

/** The imported files run every command against a real server and worker. */

test("the tests above cover every operation with its listed command", () => {
  expect([...covered].toSorted()).toEqual(Object.keys(operations).toSorted());
});
