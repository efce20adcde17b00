import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, get } from "node:https";
import { json } from "node:stream/consumers";

/** Reads single objects without the start of a program for each. */
export class ApiClient {
  readonly #server: string;
  readonly #options: { headers: Record<string, string>; agent: Agent };

  constructor(kubeconfig: string) {
    const { clusters, users } = JSON.parse(readFileSync(kubeconfig, "utf8"));
    this.#server = clusters[0].cluster.server;
    const ca = Buffer.from(clusters[0].cluster["certificate-authority-data"], "base64");
    this.#options = {
      headers: { authorization: `Bearer ${users[0].user.token}`, accept: "application/json" },
      agent: new Agent({ ca, maxCachedSessions: 0 }),
    };
  }

  /** Returns undefined if the object does not exist yet, or the API server cannot be reached. */
  async get(path: string): Promise<unknown> {
    const request = get(this.#server + path, { ...this.#options, timeout: 5_000 });
    request.on("timeout", () => request.destroy());
    try {
      const [response] = await once(request, "response");
      if (response.statusCode !== 200) return response.resume() && undefined;
      return path === "/readyz" ? response.resume() : await json(response);
    } catch {
      return undefined;
    }
  }
}
