import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Log } from "../sandboxes/sandbox.ts";
import type { Exceptions } from "./exceptions.ts";
import { serveEgress } from "./proxy.ts";

export interface HostProxy {
  /** With the credential in it. */
  url: string;
  close(): Promise<void>;
}

/**
 * The way out for programs that the worker runs itself on addresses which a caller wrote: git, for one. They reach any
 * public address. The credential keeps others on this machine from using it.
 */
export async function startHostProxy({
  exceptions,
  log,
}: {
  exceptions: Exceptions;
  log: Log;
}): Promise<HostProxy> {
  const secret = randomBytes(24).toString("base64url");
  const expected = digest(`Basic ${Buffer.from(`x:${secret}`).toString("base64")}`);
  const listener = createServer();
  const egress = serveEgress({
    listener,
    policy: { mode: "open", allow: [] },
    exceptions,
    log,
    // Whoever runs the program hears of it from the program.
    refused: () => {},
    authorize: ({ headers }) => timingSafeEqual(digest(headers["proxy-authorization"] ?? ""), expected),
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  return { url: `http://x:${secret}@127.0.0.1:${port}`, close: () => egress.close() };
}

/** Of one length for any text, so that comparing says nothing about it. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
