import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import { openOwner } from "../../src/sandboxes/owner.ts";
import { makeRoot } from "./sandbox-support.ts";

function start() {
  const { root } = makeRoot();
  mkdirSync(root);
  onTestFinished(() => removeFolder(dirname(root)));
  const open = (installation?: string, folder = root) =>
    openOwner({ root: folder, mainRoot: root, file: ".owner", findInstallation: async () => installation });
  return { root, open };
}

test("a worker has a name of its own, also as the installation, until its server tells the installation", async () => {
  const { open } = start();
  const first = await open();
  expect(first).toEqual({ installation: first.worker, worker: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  expect(await open()).toEqual(first);
  const known = await open("one");
  expect(known).toEqual({ installation: "one", worker: first.worker, formerInstallations: [first.worker] });
  // The server does not respond, or an isolated run does not ask it.
  expect(await open()).toEqual(known);
});

test("a worker that gets another server remembers its last installations", async () => {
  const { root, open } = start();
  const { worker } = await open("one");
  await open("two");
  const again = await open("one");
  expect(again).toEqual({ installation: "one", worker, formerInstallations: ["two", worker] });
  expect(JSON.parse(readFileSync(join(root, ".owner"), "utf8"))).toEqual(again);
  for (let number = 0; number < 10; number++) await open(`other ${number}`);
  expect((await open("last")).formerInstallations).toHaveLength(5);
});

test("an isolated run has the installation of its worker", async () => {
  const { root, open } = start();
  const { worker } = await open("one");
  const isolated = await open("two", join(dirname(root), "isolated", "7", "root"));
  expect(isolated).toMatchObject({ installation: "one", worker: `${worker}.7` });
});
