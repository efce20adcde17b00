import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { run, until } from "../sandbox-support.ts";
import { call, numberOf } from "./calls.ts";
import { attempts, type Ground, takeGround } from "./ground.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Two sandboxes over one base at once. In one of them somebody works; the other is the attacker's. */
let ground: Ground;
let worker: Sandbox;
const signal = new AbortController().signal;
const marker = `8000.${Date.now()}`;

const work = `
  echo private | tee file /tmp/file ~/file /dev/shm/file > /dev/null; echo changed > from-base
  exec perl -MSocket -e '
    my $id = syscall(${numberOf("shmget")}, 0x4f55, 4096, 01666); my $queue = syscall(${numberOf("msgget")}, 0x4f55, 01666);
    $id >= 0 && $queue >= 0 or die $!;
    socket(my $tcp, AF_INET, SOCK_STREAM, 0); setsockopt($tcp, SOL_SOCKET, SO_REUSEADDR, 1);
    bind($tcp, sockaddr_in(7777, INADDR_ANY)) && listen($tcp, 5) or die $!;
    socket(my $unix, AF_UNIX, SOCK_STREAM, 0); bind($unix, pack_sockaddr_un(chr(0) . "neighbour")) && listen($unix, 5) or die $!;
    socket(my $path, AF_UNIX, SOCK_STREAM, 0); bind($path, pack_sockaddr_un("/workspace/socket")) && listen($path, 5) or die $!;
    $| = 1; print "up\\n"; exec "sleep", "${marker}" if !fork; sleep 1000'`;

beforeAll(async () => {
  ground = await takeGround();
  const origin = await ground.open();
  await run(origin, "echo base > from-base");
  await ground.provider.keepBase(origin, "shared");
  worker = await ground.open({ base: "shared" });
  await ground.sandbox.close();
  ground.sandbox = await ground.open({ base: "shared" });
  const spawned = await worker.spawn(work, { signal });
  let said = "";
  for (const stream of [spawned.stdout, spawned.stderr]) {
    stream.on("data", (data) => {
      said += data;
    });
  }
  await until(() => said !== "");
  expect(said).toBe("up\n");
});
afterAll(() => ground?.leave());

const byUnix = (path: string) => `perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0);
  print connect($s, pack_sockaddr_un(${path})) ? "reached\\n" : "refused: $!\\n"'`;
const reach = `exec 2>&1; (exec 3<> /dev/tcp/127.0.0.1/7777 && echo reached); ${byUnix('chr(0) . "neighbour"')}; ${byUnix('"/workspace/socket"')}`;

test("commands of the one that works reach its services and files, so that what follows are attempts", async () => {
  expect((await run(worker, `cat file from-base /tmp/file ~/file; ${reach}`)).stdout).toBe(
    "private\nchanged\nprivate\nprivate\nreached\nreached\nreached\n",
  );
});

attempts(
  () => ground,
  [
    {
      name: "its files",
      command: "cat file /tmp/file ~/file /dev/shm/file from-base",
      says: /^(?:cat: .*No such file.*\n){4}base\n$/,
    },
    {
      name: "its services",
      command: reach,
      says: /^.*Connection refused\n[\s\S]*refused: Connection refused\nrefused: No such file/,
    },
    {
      name: "its processes",
      command: `pgrep -f ${marker.replace(".", "[.]")} || echo none; pkill -9 -x sleep || echo none`,
      says: /^none\nnone\n$/,
    },
    { name: "all processes", command: "kill -9 -1; echo sent", says: /sent\n$/ },
    { name: "its shared memory", command: call("shmget", 0x4f55, 4096, 0), says: /^refused: No such file/ },
    { name: "its queues", command: call("msgget", 0x4f55, 0), says: /^refused: No such file/ },
    {
      name: "its keys",
      command: call("request_key", '"user"', '"k"', 0, -4),
      says: /^refused: Function not implemented/,
    },
    {
      name: "its sockets, as the kernel lists them",
      command: "tail -n +2 -q /proc/net/tcp /proc/net/unix; ls /dev/mqueue; ipcs -m | grep -c 0x",
      says: /^ls: .*\n0\n$/,
    },
    {
      name: "its address, taken before it could",
      command:
        "perl -MSocket -e 'socket(my $s, AF_INET, SOCK_STREAM, 0); print bind($s, sockaddr_in(7777, INADDR_ANY)) ? qq(own\\n) : qq(taken\\n)'",
      says: /^own\n$/,
    },
  ],
);

test("whatever one does to the base, neither the other nor the next one sees", async () => {
  const { sandbox } = ground;
  await run(
    sandbox,
    "rm -rf /workspace/* ~/*; echo owned > from-base; chmod 777 from-base; mkdir .wh.x; ln -s /etc new",
  );
  expect((await run(worker, "cat from-base; ls -A")).stdout).toBe("changed\nfile\nfrom-base\nsocket\n");
  const next = await ground.open({ base: "shared" });
  expect((await run(next, "cat from-base; ls -A; stat -c %a from-base")).stdout).toBe(
    "base\nfrom-base\n644\n",
  );
  await next.close();
});

test("the one that worked has noticed nothing", async () => {
  expect((await run(worker, reach)).stdout).toBe("reached\nreached\nreached\n");
});
