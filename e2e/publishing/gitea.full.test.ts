import { join } from "node:path";
import { afterAll, beforeAll, test, vi } from "vitest";
import { type Gitea, startGitea } from "../../packages/server/test/forges/gitea.ts";
import { makePrivateCa } from "../../packages/worker/test/egress/private-ca.ts";
import { startTestInstallation, type TestInstallation } from "../../packages/worker/test/installation.ts";
import { makeFolder } from "../../packages/worker/test/repositories/git-server.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { testPullRequest } from "./forge-scenario.ts";

/** A run publishes to a real Gitea. */

const certificates = makeFolder();
let gitea: Gitea;
let installation: TestInstallation;

beforeAll(async () => {
  const { caFile } = makePrivateCa(certificates.folder, []);
  const file = (name: string) => join(certificates.folder, name);
  gitea = await startGitea({ tls: { cert: file("server.pem"), key: file("server.key"), ca: caFile } });
  const repository = { name: "api", auto_init: true, default_branch: "main", private: true };
  await gitea.call(gitea.token, "POST", "/user/repos", repository);
  installation = await startTestInstallation({ OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1" });
  await installation.worker({ extraCa: caFile, allowedAddresses: "127.0.0.1" });
}, 25 * 60_000);
afterAll(async () => {
  await installation?.stop();
  await gitea?.close();
  certificates.remove();
});

test("Gitea: open, forge down and back, follow-up, merge", async () => {
  const { token } = await gitea.newToken("tester", ["write:repository", "write:issue", "read:user"]);
  const api = (method: string, path: string, body?: unknown) =>
    gitea.call(gitea.token, method, `/repos/tester/api${path}`, body);
  await testPullRequest(installation, {
    connection: { type: "gitea", url: gitea.url, token },
    secrets: () => [token],
    host: new URL(gitea.url).host,
    repository: "tester/api",
    async pulls() {
      const pulls = await api("GET", "/pulls?state=all");
      return pulls.map(
        ({
          number,
          head,
          draft,
        }: {
          number: number;
          head: { ref: string; sha: string };
          draft: boolean;
        }) => ({
          number,
          branch: head.ref,
          isDraft: draft,
          commit: head.sha,
        }),
      );
    },
    async merge(number) {
      await api("PATCH", `/pulls/${number}`, { title: "Ready" });
      // Gitea first checks in the background whether it can merge.
      await vi.waitFor(() => api("POST", `/pulls/${number}/merge`, { Do: "merge" }), waitOptions);
    },
    pause: gitea.pause,
    resume: gitea.resume,
  });
});
