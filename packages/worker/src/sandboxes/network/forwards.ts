import type { OpenOptions } from "../sandbox.ts";
import { proxyPort } from "./proxy.ts";

const firstUnprivilegedPort = 1024;

/** Returns the ports on which init in a container accepts connections of commands. */
export function forwardsOf({ network, forwards = [], image }: OpenOptions) {
  return [
    ...(network ? [{ address: "127.0.0.1", port: proxyPort, accept: network }] : []),
    // Without an image, init has no capability to listen on these ports.
    ...forwards.filter(({ port }) => image || port >= firstUnprivilegedPort),
  ];
}
