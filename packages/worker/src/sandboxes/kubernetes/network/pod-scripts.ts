/**
 * Scripts of the worker in pods that test the network, with the programs of the worker's image. They use only packages that
 * every Debian has: bash, coreutils, sed and perl-base with its module Socket.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Cluster } from "../cluster/connect.ts";
import type { ExecStream } from "../cluster/exec-stream.ts";

const timeoutMs = 60_000;
/** The name of the container in which scripts run. */
export const scriptContainer = "scripts";

/** Returns the lines before the last one, which must be `done`. */
export async function runInPod(cluster: Cluster, pod: string, script: string): Promise<string[]> {
  const stream = await cluster.exec(pod, scriptContainer, ["/bin/bash", "-c", script]);
  stream.end();
  const lines = await readUntil(stream, /(^|\n)done\n/);
  return lines.slice(0, lines.indexOf("done"));
}

/** The process ends with the pod, or by itself. It accepts both versions of IP, if the pod has both. */
const listener = String.raw`
  use Socket; $| = 1; alarm 180;
  (socket($s, AF_INET6, SOCK_STREAM, 0) && bind($s, pack_sockaddr_in6(0, "\0" x 16)))
    || (socket($s, AF_INET, SOCK_STREAM, 0) && bind($s, sockaddr_in(0, INADDR_ANY))) || die "$!";
  listen($s, 64) || die "$!";
  print unpack("x2 n", getsockname $s), "\ndone\n";
  while (accept(my $client, $s)) { close $client }`;

/** Accepts connections in a pod, and returns the port. */
export async function listenInPod(cluster: Cluster, pod: string): Promise<number> {
  const stream = await cluster.exec(pod, scriptContainer, ["/usr/bin/perl", "-e", listener]);
  const [port] = await readUntil(stream, /\ndone\n/);
  // The process does not need the connection.
  return Number(port);
}

async function readUntil(stream: ExecStream, end: RegExp): Promise<string[]> {
  let output = "";
  const { promise, resolve } = Promise.withResolvers<void>();
  stream.on("data", (data: Buffer) => {
    output = (output + data).slice(0, 4096);
    if (end.test(output)) resolve();
  });
  stream.once("end", resolve).once("close", resolve);
  await Promise.race([promise, delay(timeoutMs, undefined, { ref: false })]);
  stream.destroy();
  if (!end.test(output))
    throw new Error(`a command in the pod failed: ${stream.problem ?? "it did not respond"}`);
  return output.trim().split("\n");
}
