import { Agent, buildConnector, type Dispatcher, Pool } from "undici";
import { normalizeHost, type Target } from "./host.ts";
import type { UpstreamProxy } from "./upstream-proxy.ts";

const connectMs = 10_000;

/**
 * Returns a dispatcher for the worker's own `fetch` calls, such as those to model providers. It sends them through the
 * upstream proxy, except for loopback and the hosts in OUTRIDER_NO_PROXY. The operator chose these hosts, so they need
 * no check.
 */
export function createUpstreamDispatcher(upstream: UpstreamProxy): Dispatcher {
  const secure = buildConnector({ timeout: connectMs });
  return new Agent({
    factory(origin, options) {
      const target = targetOf(new URL(origin));
      if (isLoopback(target.host) || upstream.isBypassed(target, [target.host]))
        return new Pool(origin, options as Pool.Options);
      const connect: buildConnector.connector = (connectOptions, callback) => {
        const signal = AbortSignal.timeout(connectMs);
        upstream.tunnel(target, { timeoutMs: connectMs, signal }).then(
          (socket) => {
            if (connectOptions.protocol === "https:")
              secure({ ...connectOptions, httpSocket: socket }, callback);
            else callback(null, socket);
          },
          (error: Error) => callback(error, null),
        );
      };
      return new Pool(origin, { ...(options as Pool.Options), connect });
    },
  });
}

function targetOf({ protocol, hostname, port }: URL): Target {
  const host = normalizeHost(hostname) ?? hostname;
  return { host, port: Number(port || (protocol === "https:" ? 443 : 80)) };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127\./.test(host);
}
