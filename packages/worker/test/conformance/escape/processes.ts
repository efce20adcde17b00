import { describe, expect, test } from "vitest";
import { syscall, syscallNumber } from "../../escape/syscalls.ts";
import { run, until } from "../../sandboxes/sandbox-support.ts";
import { makeMarker, signal } from "../fixture.ts";
import type { Place } from "../place.ts";
import { describeEscapes, type EscapeFixture, testAttempts } from "./escape-fixture.ts";

/** Processes of the host, and processes that resist termination. */
export function testProcessEscapes(place: Place): void {
  describeEscapes("processes", place, defineTests);
}

function defineTests(getFixture: () => EscapeFixture): void {
  describe("processes of the host", () => {
    const noSuchProcess = /^refused: No such process/;
    testAttempts(getFixture, [
      {
        name: "a signal to the worker",
        command: "kill -0 $WORKER && echo there",
        expected: /No such process/,
        onHost: /^there/,
      },
      {
        name: "open files and environment of the worker",
        command: "ls /proc/$WORKER/fd; cat /proc/$WORKER/environ",
        expected: /^ls: .*No such file.*\ncat: .*No such file/,
        onHost: /VITEST|\d/,
      },
      {
        name: "attaching a debugger to the worker",
        command: syscall("ptrace", 16, "$ENV{WORKER} + 0", 0, 0),
        expected: noSuchProcess,
      },
      {
        name: "the worker's memory",
        command: syscall(
          "process_vm_readv",
          "$ENV{WORKER} + 0",
          "pack(q(QQ), 0, 8)",
          1,
          "pack(q(QQ), 4096, 8)",
          1,
          0,
        ),
        expected: noSuchProcess,
        // The profile of the node may forbid the call.
        inPod: /^refused: (?:No such process|Operation not permitted)/,
      },
      {
        name: "a pidfd of the worker",
        command: syscall("pidfd_open", "$ENV{WORKER} + 0", 0),
        expected: noSuchProcess,
      },
      {
        name: "the worker's limits",
        command: syscall("prlimit64", "$ENV{WORKER} + 0", 7, 0, 0),
        expected: noSuchProcess,
      },
      {
        name: "signals to all processes",
        // Without standard error, because Bash reports the killed job at any point after `wait`.
        command: "exec 2> /dev/null; sleep 1000 & kill -STOP -1; echo sent; kill -9 -1; sleep 1000",
        expected: /^sent\n$/,
        inPod: /^(?:sent\n)?$/,
        mayEndConnection: true,
      },
      {
        name: "processes that remain after signals to all processes",
        // Without ls, which fails if a process ends in the meantime.
        command: "printf '%s\\n' /proc/[0-9]* | wc -l",
        expected: /^[3-5]\n$/,
        inPod: /^[4-6]\n$/,
        onHost: /^\d{2}/,
      },
    ]);
  });

  describe("processes that resist termination", () => {
    const resistTermination = (marker: string) => `
    setsid sleep ${marker} > /dev/null 2>&1 &
    (setsid bash -c 'trap "" TERM INT HUP QUIT; while :; do sleep ${marker}; done' > /dev/null 2>&1 &)
    perl -e 'syscall(${syscallNumber("prctl")}, 1, 0); fork and exit; fork and exit; $SIG{$_} = "IGNORE" for keys %SIG;
      exec "sleep", "${marker}"' &
    disown -a`;

    test("are killed with the sandbox, and with a command that stops itself", async () => {
      const { sandbox, processesWith } = getFixture();
      const marker = makeMarker();
      const up = `until [ $(pgrep -c -x sleep) = 3 ]; do sleep 0.02; done; echo up`;
      expect((await run(sandbox, `${resistTermination(marker)}\n${up}`)).stdout).toBe("up\n");
      await sandbox.kill();
      expect(await processesWith(marker)).toEqual([]);
      const stopped = await run(
        sandbox,
        `${resistTermination(marker)}\n${up}; kill -STOP -1; kill -STOP $$`,
        {
          timeoutMs: 3_000,
        },
      );
      expect(stopped).toMatchObject({ stdout: "up\n", timedOut: true, signal: "SIGKILL" });
      expect(await processesWith(marker)).toEqual([]);
    });

    test("are limited in number, and a fork bomb ends with its sandbox", async () => {
      const { provider, open, processesWith, sleepersOf } = getFixture();
      const { pids } = provider.capabilities();
      if (!pids.enforced) {
        await expect(open({ limits: { pids: 60 } })).rejects.toThrow(pids.reason.slice(1));
        return;
      }
      const marker = makeMarker();
      const sandbox = await open({ limits: { pids: 60 } });
      const bomb = run(sandbox, `b() { sleep ${marker} & b | b & }; b; b; b; sleep ${marker}`, {
        timeoutMs: 60_000,
      });
      await until(async () => (await sandbox.limitEvents()).forks_refused > 0);
      expect((await sleepersOf(marker)).length).toBeLessThanOrEqual(60);
      await sandbox.close();
      await bomb;
      expect(await processesWith(marker)).toEqual([]);
    });

    test("are limited in memory", async () => {
      const { provider, open } = getFixture();
      const { memory } = provider.capabilities();
      if (!memory.enforced) {
        await expect(open({ limits: { memory_mb: 100 } })).rejects.toThrow(memory.reason.slice(1));
        return;
      }
      const sandbox = await open({ limits: { memory_mb: 100 } });
      expect((await run(sandbox, `perl -e '$x = "x" x 20_000_000; print "fits"'`)).stdout).toBe("fits");
      expect((await run(sandbox, `exec perl -e '$x = "x" x 300_000_000; print "fits"'`)).stdout).toBe("");
      expect((await sandbox.limitEvents()).oom_kills).toBeGreaterThan(0);
      await sandbox.close();
    });

    test("use no memory of the worker for endless output", async () => {
      const before = process.memoryUsage.rss();
      let [bytes, maxRss] = [0, 0];
      const onOutput = ({ data }: { data: Buffer }) => {
        bytes += data.length;
        maxRss = Math.max(maxRss, process.memoryUsage.rss());
      };
      await run(getFixture().sandbox, "yes & yes >&2 & cat /dev/zero", { timeoutMs: 1_500, onOutput });
      expect(bytes).toBeGreaterThan(1e6);
      expect(maxRss - before).toBeLessThan(200e6);
    });
  });

  describe("startup files in a sandbox", () => {
    test("do not run before the worker's own scripts and commands", async () => {
      const { sandbox } = getFixture();
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

  describe("an output pipe that is passed to another command of the sandbox", () => {
    /** Receives an open file over a Unix socket and then runs `then`. */
    const receiver = (then: string) => `exec perl -MSocket -MPOSIX -e '
    socket(my $l, AF_UNIX, SOCK_STREAM, 0); bind($l, pack_sockaddr_un("/tmp/hand")) or die $!; listen($l, 5);
    $| = 1; print "up\\n"; accept(my $c, $l);
    my ($data, $control) = ("x" x 8, chr(0) x 64);
    my $part = pack("PQ", $data, 8);
    my $message = pack("QQPQPQQ", 0, 0, $part, 1, $control, 64, 0);
    syscall(${syscallNumber("recvmsg")}, fileno($c), $message, 0) == 1 or die $!;
    my $file = unpack("i", substr($control, 16, 4)); ${then}'`;
    const sender = `exec perl -MSocket -e '
    socket(my $c, AF_UNIX, SOCK_STREAM, 0); connect($c, pack_sockaddr_un("/tmp/hand")) or die $!;
    my ($data, $control) = ("x", pack("Qiiii", 20, 1, 1, 1, 0));
    my $part = pack("PQ", $data, 1);
    my $message = pack("QQPQPQQ", 0, 0, $part, 1, $control, 24, 0);
    print STDERR syscall(${syscallNumber("sendmsg")}, fileno($c), $message, 0) == 1 ? "given\\n" : "refused: $!\\n"'`;

    async function passPipe(then: string) {
      const sandbox = await getFixture().open();
      const spawned = await sandbox.spawn(receiver(then), { signal });
      let output = "";
      spawned.stdout.on("data", (data) => {
        output += data;
      });
      spawned.stderr.on("data", (data) => {
        output += data;
      });
      await until(() => output === "up\n");
      expect(await run(sandbox, sender)).toMatchObject({ exitCode: 0, stderr: "given\n" });
      return { sandbox, output: () => output };
    }

    test("does not block the end of that command or the output of later ones", async () => {
      const { sandbox } = await passPipe("sleep 1000");
      expect((await run(sandbox, "echo heard")).stdout).toBe("heard\n");
      await sandbox.close();
    });

    test("cannot read or forge the output of other sandboxes", async () => {
      const { sandbox, output } = await passPipe(`
      sysopen(my $in, "/proc/self/fd/$file", O_RDONLY | O_NONBLOCK) or die $!;
      POSIX::close($file); print "ready\\n";
      while (1) { my $n = sysread($in, my $text, 1000); print "heard $text" if $n;
        if (sysopen(my $out, "/proc/self/fd/" . fileno($in), O_WRONLY | O_NONBLOCK)) { syswrite($out, "forged\\n") if $n }
        select(undef, undef, undef, 0.005) }`);
      await until(() => output().includes("ready\n"));
      const other = await getFixture().open();
      for (let round = 0; round < 10; round++) {
        const result = await run(other, "echo private; sleep 0.03; echo private >&2");
        expect(result).toMatchObject({ stdout: "private\n", stderr: "private\n" });
      }
      expect(output()).not.toContain("private");
      await sandbox.close();
      await other.close();
    });
  });
}
