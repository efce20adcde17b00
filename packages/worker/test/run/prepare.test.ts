import { setImmediate } from "node:timers/promises";
import type { Assignment } from "@outrider/contract/worker";
import { expect, onTestFinished, test } from "vitest";
import type { BuildContext } from "../../src/builds/build.ts";
import { openRepositories } from "../../src/repositories/repositories.ts";
import { prepareRun } from "../../src/run/prepare.ts";
import { connectToServer } from "../../src/server-client/server-client.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";
import { silent } from "../sandboxes/sandbox-support.ts";
import { startRejectingProxy } from "./rejecting-proxy.ts";

test("a notice about a repository that cannot be reported does not end the process", async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", onUnhandled);
  const temporary = makeFolder();
  const status_message = { error_code: "environment_setup_failed", message: "no build" };
  const proxy = await startRejectingProxy("http://127.0.0.1:1", () => ({
    status: 200,
    body: JSON.stringify({ state: "failed", build_id: "build", status_message }),
  }));
  const server = connectToServer({ url: proxy.url, key: "key" });
  onTestFinished(() => {
    process.off("unhandledRejection", onUnhandled);
    server.stop();
    proxy.stop();
    temporary.remove();
  });

  const origin = new Origin(temporary.folder, "media");
  origin.push("main", { ".gitattributes": "*.bin filter=lfs\n" });
  const repositories = openRepositories({
    folder: `${temporary.folder}/cache`,
    allowedPaths: [temporary.folder],
    log: silent,
  });
  const repos = [{ url: `file://${origin.bare}`, path: "media" }];
  const environment = { repos, setup_commands: [], variables: {}, credentials: {}, build_secrets: {} };
  const assignment = { execution_id: "execution", run_id: "run", environment } as unknown as Assignment;
  const notices: string[] = [];
  const prepared = prepareRun({ server, repositories } as BuildContext, {
    assignment,
    workerId: "worker",
    signal: new AbortController().signal,
    async emit(event) {
      if (event.type === "notice") notices.push(event.data.message);
      throw new Error("The server rejected a batch.");
    },
  });
  await expect(prepared).rejects.toThrow("no build");
  await setImmediate();
  expect(notices).toEqual([expect.stringContaining("uses Git LFS")]);
  expect(unhandled).toEqual([]);
});
