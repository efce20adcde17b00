import { request } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import { serve } from "../../packages/worker/test/egress/egress-support.ts";
import { makePrivateCa } from "../../packages/worker/test/egress/private-ca.ts";
import { startUpstream } from "../../packages/worker/test/egress/upstream-support.ts";
import type { TestInstallation } from "../../packages/worker/test/installation.ts";
import { type HttpServer, serveHttp } from "../../packages/worker/test/repositories/git-server.ts";
import { run as spawnOutrider } from "../process.ts";

/**
 * A company's network: its servers have certificates of its own authority and names that only its proxy can resolve, and
 * the proxy is the only way out. It demands a login.
 */
export async function startCompany(folder: string) {
  const { caFile, tls } = makePrivateCa(folder, ["git.company.test", "rates.company.test"]);
  const repositories: HttpServer = await serveHttp(folder);
  const [host, gitPort] = repositories.host.split(":");
  const port = await serve(
    createServer(tls, (incoming, response) => {
      if (incoming.url === "/rates") return response.end("1.25\n");
      const { method, url: path, headers } = incoming;
      const outgoing = request({ host, port: gitPort, method, path, headers }, (answer) =>
        answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers)),
      );
      outgoing.on("error", () => response.destroy());
      incoming.pipe(outgoing);
    }),
  );
  const proxy = await startUpstream({
    login: "acme:pa55-of-the-proxy",
    addressOf: (name) => (name.endsWith(".company.test") ? "127.0.0.1" : name),
  });

  return {
    proxy,
    addressOf: (name: string, path: string) => `https://${name}.company.test:${port}${path}`,
    hostOf: (name: string) => `${name}.company.test:${port}`,

    /** Starts a worker in this network. It reaches the registry of the images on loopback. */
    async startWorker(installation: TestInstallation) {
      const worker = spawnOutrider(
        [
          ...["worker", "--server", installation.origin, "--name", "company"],
          ...["--data-dir", join(installation.workersFolder, "company")],
          ...["--extra-ca", caFile, "--allow-addresses", "127.0.0.1"],
        ],
        {
          OUTRIDER_WORKER_KEY: installation.workerKey,
          OUTRIDER_UPSTREAM_PROXY: proxy.url,
          OUTRIDER_NO_PROXY: "127.0.0.1",
        },
      );
      await worker.waitForOutput("ready for runs");
      return worker;
    },

    stop: () => repositories.stop(),
  };
}
