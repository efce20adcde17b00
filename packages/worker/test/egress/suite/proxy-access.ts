/**
 * How clients reach a proxy: directly, or from a sandbox. The tests of the proxy connect to a port of this machine in both
 * cases. For a sandbox, each connection to that port is passed to a command in the sandbox, which connects to its proxy.
 */
import { randomUUID } from "node:crypto";
import { createServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { afterAll, afterEach, beforeAll, describe } from "vitest";
import type { Egress } from "../../../src/egress/proxy.ts";
import type { Sandbox } from "../../../src/sandboxes/sandbox.ts";
import type { Place } from "../../conformance/place.ts";
import { inMs } from "../../sandboxes/sandbox-support.ts";
import { closeAll, closeLater, createProxy, serve, startProxy } from "../egress-support.ts";

/** Starts a proxy that a test reaches at a port of this machine, until the end of the test. */
export type StartProxy = typeof startProxy;

export interface ProxyAccess {
  name: string;
  /** As in `Place`. */
  problem?: string | undefined;
  open(): Promise<{ startProxy: StartProxy; close(): Promise<void> }>;
}

export const onLoopback: ProxyAccess = {
  name: "loopback",
  open: async () => ({ startProxy, close: async () => {} }),
};

export function describeProxy(
  topic: string,
  access: ProxyAccess,
  define: (startProxy: StartProxy) => void,
): void {
  describe.skipIf(access.problem)(`${topic} (${access.name})`, () => {
    let opened: Awaited<ReturnType<ProxyAccess["open"]>>;
    beforeAll(async () => {
      opened = await access.open();
    });
    afterEach(closeAll);
    afterAll(() => opened?.close());
    define((options) => opened.startProxy(options));
  });
}

/** A sandbox whose connections to the proxy go to that of the current test. */
interface ProxySandbox {
  sandbox: Sandbox;
  egress: Egress | undefined;
}

/** The proxy as commands in a sandbox reach it. */
export function inSandboxOf(place: Place): ProxyAccess {
  return {
    ...{ name: place.name, problem: place.problem },
    async open() {
      const { provider, image, expectNoLeftovers, close } = await place.open();
      const all: ProxySandbox[] = [];
      const unused: ProxySandbox[] = [];
      async function openSandbox(): Promise<ProxySandbox> {
        const opened: Partial<ProxySandbox> = {};
        const network = (connection: Duplex) => {
          if (opened.egress) opened.egress.accept(connection);
          else connection.destroy();
        };
        const options = { id: randomUUID(), deadline: inMs(1_800_000), label: {}, network };
        opened.sandbox = await provider.open({ ...options, ...(image ? { image } : {}) });
        all.push(opened as ProxySandbox);
        return opened as ProxySandbox;
      }
      return {
        async startProxy(options) {
          const proxy = createProxy(options);
          const used = unused.pop() ?? (await openSandbox());
          used.egress = proxy.egress;
          closeLater(() => {
            used.egress = undefined;
            unused.push(used);
          });
          closeLater(() => proxy.egress.close());
          const port = await serve(
            createServer({ allowHalfOpen: true }, (client) => void passToProxy(used.sandbox, client)),
          );
          return { ...proxy, port, url: `http://127.0.0.1:${port}` };
        },
        async close() {
          await Promise.all(all.map(({ sandbox }) => sandbox.close()));
          await expectNoLeftovers();
          await close();
        },
      };
    },
  };
}

/**
 * Connects to the sandbox's proxy and copies both directions. If the connection breaks, it says so on stderr, and ends when its
 * stdin does: the end of stdout would be the end of the data.
 */
const relay = `
  use Socket;
  sub fail { print STDERR "broken"; 1 while sysread(STDIN, my $rest, 65536); exit }
  socket(my $proxy, AF_INET, SOCK_STREAM, 0); connect($proxy, sockaddr_in(3128, INADDR_LOOPBACK)) or fail;
  sub copy { my ($from, $to) = @_;
    while (1) {
      my $size = sysread($from, my $data, 65536);
      defined $size or fail; $size or return;
      for (my $at = 0; $at < $size; ) { my $sent = syswrite($to, $data, $size - $at, $at) or fail; $at += $sent }
    } }
  $SIG{PIPE} = "IGNORE";
  my $sender = fork;
  if (!$sender) { close STDOUT; copy(*STDIN, $proxy); shutdown($proxy, 1); exit }
  copy($proxy, *STDOUT); close STDOUT;
  waitpid($sender, 0)`;

/** Commands end by themselves, because a sandbox that must kill hundreds of them at once may be killed instead. */
async function passToProxy(sandbox: Sandbox, client: Socket): Promise<void> {
  try {
    const { signal } = new AbortController();
    const command = await sandbox.spawn(["/usr/bin/perl", "-e", relay], { signal });
    for (const stream of [command.stdin, command.stdout]) stream.on("error", () => {});
    client.pipe(command.stdin);
    command.stdout.pipe(client);
    client.once("close", () => {
      command.stdin.end();
      command.stdout.resume();
    });
    command.stderr.once("data", () => {
      client.resetAndDestroy();
      command.stdin.end();
    });
  } catch {
    client.resetAndDestroy();
  }
}
