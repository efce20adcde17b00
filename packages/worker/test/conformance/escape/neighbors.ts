import { beforeAll, expect, test } from "vitest";
import type { Sandbox } from "../../../src/sandboxes/sandbox.ts";
import { syscall, syscallNumber } from "../../escape/syscalls.ts";
import { run, until } from "../../sandboxes/sandbox-support.ts";
import { collect, makeMarker, signal } from "../fixture.ts";
import type { Place } from "../place.ts";
import { describeEscapes, type EscapeFixture, testAttempts } from "./escape-fixture.ts";

/** Two sandboxes over one base. One belongs to the victim, the other to the attacker. */
export function testNeighborEscapes(place: Place): void {
  describeEscapes("neighbors", place, defineTests);
}

const marker = makeMarker();

const victimCommand = `
  echo private | tee file /tmp/file ~/file /dev/shm/file > /dev/null; echo changed > from-base
  exec perl -MSocket -e '
    my $id = syscall(${syscallNumber("shmget")}, 0x4f55, 4096, 01666); my $queue = syscall(${syscallNumber("msgget")}, 0x4f55, 01666);
    $id >= 0 && $queue >= 0 or die $!;
    socket(my $tcp, AF_INET, SOCK_STREAM, 0); setsockopt($tcp, SOL_SOCKET, SO_REUSEADDR, 1);
    bind($tcp, sockaddr_in(7777, INADDR_ANY)) && listen($tcp, 5) or die $!;
    socket(my $unix, AF_UNIX, SOCK_STREAM, 0); bind($unix, pack_sockaddr_un(chr(0) . "neighbor")) && listen($unix, 5) or die $!;
    socket(my $path, AF_UNIX, SOCK_STREAM, 0); bind($path, pack_sockaddr_un("/workspace/socket")) && listen($path, 5) or die $!;
    $| = 1; print "up\\n"; exec "sleep", "${marker}" if !fork; sleep 1000'`;

const byUnix = (path: string) => `perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0);
  print connect($s, pack_sockaddr_un(${path})) ? "reached\\n" : "refused: $!\\n"'`;
const connectToAll = `exec 2>&1; (exec 3<> /dev/tcp/127.0.0.1/7777 && echo reached); ${byUnix('chr(0) . "neighbor"')}; ${byUnix('"/workspace/socket"')}`;

function defineTests(getFixture: () => EscapeFixture): void {
  let victim: Sandbox;
  beforeAll(async () => {
    const fixture = getFixture();
    const origin = await fixture.open();
    await run(origin, "echo base > from-base");
    await fixture.provider.saveBase(origin, "shared");
    victim = await fixture.open({ base: "shared" });
    await fixture.sandbox.close();
    fixture.sandbox = await fixture.open({ base: "shared" });
    const spawned = await victim.spawn(victimCommand, { signal });
    const [output, errors] = [collect(spawned.stdout), collect(spawned.stderr)];
    await until(() => output() + errors() !== "");
    expect(output() + errors()).toBe("up\n");
  });

  test("the victim's own commands reach its services and files, so the attempts below are real", async () => {
    expect((await run(victim, `cat file from-base /tmp/file ~/file; ${connectToAll}`)).stdout).toBe(
      "private\nchanged\nprivate\nprivate\nreached\nreached\nreached\n",
    );
  });

  testAttempts(getFixture, [
    {
      name: "the victim's files",
      command: "cat file /tmp/file ~/file /dev/shm/file from-base",
      expected: /^(?:cat: .*No such file.*\n){4}base\n$/,
    },
    {
      name: "the victim's services",
      command: connectToAll,
      expected: /^.*Connection refused\n[\s\S]*refused: Connection refused\nrefused: No such file/,
    },
    {
      name: "the victim's processes",
      command: `pgrep -f ${marker.replace(".", "[.]")} || echo none; pkill -9 -x sleep || echo none`,
      expected: /^none\nnone\n$/,
    },
    {
      name: "killing all processes",
      command: "echo sent; kill -9 -1",
      expected: /^sent\n$/,
      inPod: /^(?:sent\n)?$/,
      mayEndConnection: true,
    },
    {
      name: "the victim's shared memory",
      command: syscall("shmget", 0x4f55, 4096, 0),
      expected: /^refused: No such file/,
    },
    {
      name: "the victim's message queues",
      command: syscall("msgget", 0x4f55, 0),
      expected: /^refused: No such file/,
    },
    {
      name: "the victim's keys",
      command: syscall("request_key", '"user"', '"k"', 0, -4),
      expected: /^refused: Function not implemented/,
    },
    {
      name: "the victim's sockets in /proc",
      command: "tail -n +2 -q /proc/net/tcp /proc/net/unix; ls /dev/mqueue; ipcs -m | grep -c 0x",
      // An empty folder of message queues, or none.
      expected: /^(?:ls: .*\n)?0\n$/,
      // The connection to init has no name.
      inPod: /^(?:[\da-f]+: (?:[\da-f]+ )+\d+(?: @outrider-(?:commands|scripts))?\n)*(?:ls: .*\n)?0\n$/,
    },
    {
      name: "the victim's port, which is free in the attacker's network",
      command:
        "perl -MSocket -e 'socket(my $s, AF_INET, SOCK_STREAM, 0); print bind($s, sockaddr_in(7777, INADDR_ANY)) ? qq(own\\n) : qq(taken\\n)'",
      expected: /^own\n$/,
    },
  ]);

  test("changes over a base are invisible to other sandboxes over it", async () => {
    const { sandbox, open } = getFixture();
    await run(
      sandbox,
      "rm -rf /workspace/* ~/*; echo owned > from-base; chmod 777 from-base; mkdir .wh.x; ln -s /etc new",
    );
    expect((await run(victim, "cat from-base; ls -A")).stdout).toBe("changed\nfile\nfrom-base\nsocket\n");
    const next = await open({ base: "shared" });
    expect((await run(next, "cat from-base; ls -A; stat -c %a from-base")).stdout).toBe(
      "base\nfrom-base\n644\n",
    );
    await next.close();
  });

  test("the victim's services still work", async () => {
    expect((await run(victim, connectToAll)).stdout).toBe("reached\nreached\nreached\n");
  });
}
