import { createServer, connect as dial } from "node:net";

/** Relays TCP connections to a unix socket: `node relay.ts ADDRESS PORT SOCKET`. */

const [address, port, socket] = process.argv.slice(2) as [string, string, string];

createServer((client) => {
  const upstream = dial(socket);
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.pipe(to);
    from.on("error", () => {});
    from.on("close", () => to.destroy());
  }
}).listen(Number(port), address, () => process.stdout.write("ready\n"));
