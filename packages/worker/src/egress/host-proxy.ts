import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Log } from "../log.ts";
import type { Exceptions } from "./exceptions.ts";
import { serveEgress } from "./proxy.ts";
import type { UpstreamProxy } from "./upstream-proxy.ts";

export interface HostProxy {
  /** Includes the credential. */
  url: string;
  close(): Promise<void>;
}

/**
 * Starts a proxy for programs such as git that the worker itself runs with URLs from callers. They can reach any public
 * address. The credential prevents other users on this machine from using the proxy.
 */
export async function startHostProxy({
  exceptions,
  upstream,
  log,
}: {
  exceptions: Exceptions;
  upstream?: UpstreamProxy | undefined;
  log: Log;
}): Promise<HostProxy> {
  const secret = randomBytes(24).toString("base64url");
  const expected = digest(`Basic ${Buffer.from(`x:${secret}`).toString("base64")}`);
  const listener = createServer();
  const egress = serveEgress({
    listener,
    policy: { mode: "open", allow: [] },
    exceptions,
    upstream,
    log,
    // The program reports the refusal itself.
    onRefused: () => {},
    authorize: ({ headers }) => timingSafeEqual(digest(headers["proxy-authorization"] ?? ""), expected),
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  return { url: `http://x:${secret}@127.0.0.1:${port}`, close: () => egress.close() };
}

/** Returns a value of fixed length, so that the comparison takes constant time. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
