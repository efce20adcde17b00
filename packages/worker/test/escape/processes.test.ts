import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { processesWith, run, sleepersOf, until } from "../sandbox-support.ts";
import { call, numberOf } from "./calls.ts";
import { attempts, type Ground, takeGround } from "./ground.ts";

vi.setConfig({ testTimeout: 60_000 });

let ground: Ground;
beforeAll(async () => {
  ground = await takeGround();
});
afterAll(() => ground?.leave());

let count = 0;
const makeMarker = () => `7000.${Date.now()}${++count}`;
const signal = new AbortController().signal;

describe("processes of the host", () => {
  const gone = /^refused: No such process/;
  attempts(
    () => ground,
    [
      {
        name: "a signal to the worker",
        command: "kill -0 $WORKER && echo there",
        says: /No such process/,
        outside: /^there/,
      },
      {
        name: "what they hold",
        command: "ls /proc/$WORKER/fd; cat /proc/$WORKER/environ",
        says: /^ls: .*No such file.*\ncat: .*No such file/,
        outside: /VITEST|\d/,
      },
      {
        name: "the worker under a debugger",
        command: call("ptrace", 16, "$ENV{WORKER} + 0", 0, 0),
        says: gone,
      },
      {
        name: "its memory",
        command: call(
          "process_vm_readv",
          "$ENV{WORKER} + 0",
          "pack(q(QQ), 0, 8)",
          1,
          "pack(q(QQ), 4096, 8)",
          1,
          0,
        ),
        says: gone,
      },
      { name: "a handle of it", command: call("pidfd_open", "$ENV{WORKER} + 0", 0), says: gone },
      { name: "its limits", command: call("prlimit64", "$ENV{WORKER} + 0", 7, 0, 0), says: gone },
      {
        name: "all at once",
        command: "sleep 1000 & kill -9 -1; wait; kill -STOP -1; echo alone; ls -d /proc/[0-9]* | wc -l",
        says: /^(?:.*(?:Killed|No such process).*\n)*alone\n[2-5]\n$/,
      },
    ],
  );
});

describe("processes that do not want to end", () => {
  const everyWay = (marker: string) => `
    setsid sleep ${marker} > /dev/null 2>&1 &
    (setsid bash -c 'trap "" TERM INT HUP QUIT; while :; do sleep ${marker}; done' > /dev/null 2>&1 &)
    perl -e 'syscall(${numberOf("prctl")}, 1, 0); fork and exit; fork and exit; $SIG{$_} = "IGNORE" for keys %SIG;
      exec "sleep", "${marker}"' &
    disown -a`;

  test("are gone when the command has ended, been stopped or has stopped itself", async () => {
    const { sandbox } = ground;
    const marker = makeMarker();
    const up = `until [ $(pgrep -c -x sleep) = 3 ]; do sleep 0.02; done; echo up`;
    expect((await run(sandbox, `${everyWay(marker)}\n${up}`)).stdout).toBe("up\n");
    expect(processesWith(marker)).toEqual([]);
    const stopped = await run(sandbox, `${everyWay(marker)}\n${up}; kill -STOP -1; kill -STOP $$`, {
      timeoutMs: 3_000,
    });
    expect(stopped).toMatchObject({ stdout: "up\n", timedOut: true, signal: "SIGKILL" });
    expect(processesWith(marker)).toEqual([]);
  });

  test("are no more than the limit, and a bomb of them ends with its sandbox", async () => {
    const { pids } = ground.provider.capabilities();
    if (!pids.enforced) {
      await expect(ground.open({ limits: { pids: 60 } })).rejects.toThrow(pids.reason.slice(1));
      return;
    }
    const marker = makeMarker();
    const sandbox = await ground.open({ limits: { pids: 60 } });
    const bomb = run(sandbox, `b() { sleep ${marker} & b | b & }; b; b; b; sleep ${marker}`, {
      timeoutMs: 60_000,
    });
    await until(() => sandbox.happened().forks_refused > 0);
    expect(sleepersOf(marker).length).toBeLessThanOrEqual(60);
    await sandbox.close();
    await bomb;
    expect(processesWith(marker)).toEqual([]);
  });

  test("take no more memory than the limit", async () => {
    const { memory } = ground.provider.capabilities();
    if (!memory.enforced) {
      await expect(ground.open({ limits: { memory_mb: 100 } })).rejects.toThrow(memory.reason.slice(1));
      return;
    }
    const sandbox = await ground.open({ limits: { memory_mb: 100 } });
    expect((await run(sandbox, `perl -e '$x = "x" x 20_000_000; print "fits"'`)).stdout).toBe("fits");
    expect((await run(sandbox, `exec perl -e '$x = "x" x 300_000_000; print "fits"'`)).stdout).toBe("");
    expect(sandbox.happened().oom_kills).toBeGreaterThan(0);
    await sandbox.close();
  });

  test("cost nothing by talking without end", async () => {
    const before = process.memoryUsage.rss();
    let [bytes, most] = [0, 0];
    const onOutput = ({ data }: { data: Buffer }) => {
      bytes += data.length;
      most = Math.max(most, process.memoryUsage.rss());
    };
    await run(ground.sandbox, "yes & yes >&2 & cat /dev/zero", { timeoutMs: 1_500, onOutput });
    expect(bytes).toBeGreaterThan(1e6);
    expect(most - before).toBeLessThan(200e6);
  });
});

describe("what a sandbox leaves for its own later commands", () => {
  test("does not run ahead of what the worker does there", async () => {
    const { sandbox } = ground;
    const trap = "ls -l /proc/self/fd > /tmp/ran";
    await run(
      sandbox,
      `for f in ~/.bashrc ~/.profile ~/.bash_profile ~/.bash_login; do echo '${trap}' > $f; done`,
    );
    await sandbox.write("file", Buffer.from("text"));
    await sandbox.read("file", 10);
    const spawned = await sandbox.spawn("cat", { signal });
    spawned.stdin.end();
    spawned.stdout.resume();
    spawned.stderr.resume();
    await spawned.ended;
    expect((await run(sandbox, "bash -c :; ls /tmp/ran")).stderr).toContain("No such file");
    await run(sandbox, "rm ~/.*rc ~/.*profile ~/.bash_login");
  });
});

describe("the output of a command, handed to another command of the sandbox", () => {
  /** A process that takes an open file from whoever connects, and then does something with it. */
  const taker = (then: string) => `exec perl -MSocket -MPOSIX -e '
    socket(my $l, AF_UNIX, SOCK_STREAM, 0); bind($l, pack_sockaddr_un("/tmp/hand")) or die $!; listen($l, 5);
    $| = 1; print "up\\n"; accept(my $c, $l);
    my ($data, $control) = ("x" x 8, chr(0) x 64);
    my $part = pack("PQ", $data, 8);
    my $message = pack("QQPQPQQ", 0, 0, $part, 1, $control, 64, 0);
    syscall(${numberOf("recvmsg")}, fileno($c), $message, 0) == 1 or die $!;
    my $file = unpack("i", substr($control, 16, 4)); ${then}'`;
  const giver = `exec perl -MSocket -e '
    socket(my $c, AF_UNIX, SOCK_STREAM, 0); connect($c, pack_sockaddr_un("/tmp/hand")) or die $!;
    my ($data, $control) = ("x", pack("Qiiii", 20, 1, 1, 1, 0));
    my $part = pack("PQ", $data, 1);
    my $message = pack("QQPQPQQ", 0, 0, $part, 1, $control, 24, 0);
    print STDERR syscall(${numberOf("sendmsg")}, fileno($c), $message, 0) == 1 ? "given\\n" : "refused: $!\\n"'`;

  async function hand(then: string) {
    const sandbox = await ground.open();
    const spawned = await sandbox.spawn(taker(then), { signal });
    let said = "";
    spawned.stdout.on("data", (data) => {
      said += data;
    });
    spawned.stderr.on("data", (data) => {
      said += data;
    });
    await until(() => said === "up\n");
    expect(await run(sandbox, giver)).toMatchObject({ exitCode: 0, stderr: "given\n" });
    return { sandbox, said: () => said };
  }

  test("does not keep that command from ending, nor the next ones from being heard", async () => {
    const { sandbox } = await hand("sleep 1000");
    expect((await run(sandbox, "echo heard")).stdout).toBe("heard\n");
    await sandbox.close();
  });

  test("tells nothing of other sandboxes, and says nothing in their name", async () => {
    const { sandbox, said } = await hand(`
      sysopen(my $in, "/proc/self/fd/$file", O_RDONLY | O_NONBLOCK) or die $!;
      POSIX::close($file); print "ready\\n";
      while (1) { my $n = sysread($in, my $text, 1000); print "heard $text" if $n;
        if (sysopen(my $out, "/proc/self/fd/" . fileno($in), O_WRONLY | O_NONBLOCK)) { syswrite($out, "forged\\n") if $n }
        select(undef, undef, undef, 0.005) }`);
    await until(() => said().includes("ready\n"));
    const other = await ground.open();
    for (let round = 0; round < 10; round++) {
      const result = await run(other, "echo private; sleep 0.03; echo private >&2");
      expect(result).toMatchObject({ stdout: "private\n", stderr: "private\n" });
    }
    expect(said()).not.toContain("private");
    await sandbox.close();
    await other.close();
  });
});
