import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import {
  type Event,
  longSleep,
  outputOf,
  processesWith,
  startTestInstallation,
  type TestInstallation,
  waitForSleep,
} from "../installation.ts";

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startTestInstallation();
  await installation.worker();
});
afterAll(() => installation.stop());

const call = (tool: string, input: object) => `CALL: ${tool} ${JSON.stringify(input)}`;
const start = (command: string) => call("run_command", { command, background: true });
const answers = (events: Event[]) =>
  events.filter(({ type }) => type === "tool.returned").map(({ data }) => data.output as string);
const ofType = (events: Event[], type: string) => events.filter((event) => event.type === type);

async function finished(script: string[], body: object = {}) {
  const run = await installation.create(script, body);
  await installation.until(run, "SUCCEEDED");
  return { run, events: await installation.events(run) };
}

/** Serves a file's content on each connection, in a language that every sandbox has. */
const server = (file: string) =>
  `perl -MIO::Socket::INET -e '$| = 1; my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1:8123") or die; print "ready\\n"; while (my $c = $s->accept) { open(my $f, "<", "${file}"); print {$c} <$f>; close $c }'`;
const request =
  "for i in $(seq 100); do cat < /dev/tcp/127.0.0.1/8123 && break; sleep 0.1; done 2> /dev/null";

describe("a background command", () => {
  test("can be a server that later commands reach until it is stopped", async () => {
    const { mark } = longSleep();
    const { events } = await finished([
      "WRITE: page | hello from the server",
      start(`: ${mark}; ${server("page")}`),
      `RUN: ${request}`,
      call("read_output", { command_id: "bg-call-2" }),
      call("stop_command", { command_id: "bg-call-2" }),
      "RUN: cat < /dev/tcp/127.0.0.1/8123 || echo nobody is there",
    ]);
    expect(outputOf(events, "call-3")).toBe("hello from the server");
    expect(answers(events).slice(1)).toEqual([
      "Started in the background as bg-call-2.",
      "ready\n[running]",
      "[stopped before it finished]",
    ]);
    expect(outputOf(events, "call-6")).toContain("nobody is there");
    expect(ofType(events, "command.started")[0]?.data).toMatchObject({
      command_id: "bg-call-2",
      background: true,
    });
    expect(processesWith(mark)).toEqual([]);
  });

  test("is killed with its child processes at the end of the turn, and its files are kept", async () => {
    const { command, mark } = longSleep();
    const { run, events } = await finished([
      start(`echo late > file; (setsid ${command} &); ${command}`),
      "RUN: while [ ! -e file ]; do sleep 0.05; done",
    ]);
    await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
    expect(outputOf(events, "bg-call-1")).toBe("outrider: stopped because the turn ended.\n");
    expect(ofType(events, "run.succeeded")[0]?.seq).toBeGreaterThan(
      ofType(events, "command.finished").at(-1)?.seq as number,
    );
    await installation.followUp(run, ["RUN: cat file", call("read_output", { command_id: "bg-call-1" })]);
    await installation.until(run, "SUCCEEDED");
    const later = await installation.events(run);
    expect(outputOf(later, "call-3")).toBe("late\n");
    expect(answers(later).at(-1)).toContain("not found in this turn");
  });

  test("reports its changes when it is read and when it ends, without those of tools", async () => {
    const { events } = await finished([
      "RUN: echo 1 > first",
      start("touch second; while [ ! -e go ]; do sleep 0.05; done; touch third"),
      "WRITE: mine | tool",
      "RUN: while [ ! -e second ]; do sleep 0.05; done",
      "WRITE: go |",
      call("read_output", { command_id: "bg-call-2", wait_ms: 20_000 }),
    ]);
    const changed = ofType(events, "file.changed").map(({ data }) => `${data.kind} ${data.path}`);
    expect(changed.toSorted()).toEqual(
      ["created first", "created go", "created mine", "created second", "created third"].toSorted(),
    );
  });

  test("has its files stored even if its output is never read", async () => {
    const run = await installation.create(
      [start("sleep 0.3; echo written > late; sleep 60"), "RUN: while [ ! -e late ]; do sleep 0.05; done"],
      { config: { idle_timeout_minutes: 0 } },
    );
    await installation.until(run, "SUCCEEDED");
    await installation.followUp(run, ["RUN: cat late"]);
    await installation.until(run, "SUCCEEDED");
    expect(outputOf(await installation.events(run), "call-3")).toBe("written\n");
  });

  test("is killed when the run is cancelled", async () => {
    const { command, mark } = longSleep();
    const run = await installation.create([start(command), "RUN: sleep 60"]);
    await waitForSleep(mark);
    await installation.call("POST", `/agent/runs/${run}/cancel`);
    await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
  });

  test("has long output stored as an artifact", async () => {
    const { run, events } = await finished([
      start("seq 1 40000"),
      call("read_output", { command_id: "bg-call-1", wait_ms: 20_000 }),
    ]);
    const { artifact_id, omitted_bytes } = ofType(events, "command.finished")[0]?.data ?? {};
    expect(omitted_bytes).toBeGreaterThan(0);
    const { artifacts } = await installation.get(run);
    expect(artifacts).toMatchObject([{ artifact_id, name: "bg-call-1-output.log" }]);
    const { text } = await installation.call("GET", `/agent/artifacts/${artifact_id}/content`);
    expect(text.split("\n")).toHaveLength(40_001);
    expect(answers(events)[1]).toContain("bytes omitted");
  });

  test("is killed with its worker and restarted when the run continues", async () => {
    const other = await startTestInstallation();
    try {
      const { command, mark } = longSleep();
      const worker = await other.workerProcess("short-lived");
      const run = await other.create([
        start(`echo begun; ${command}`),
        "RUN: if mkdir ~/seen; then sleep 2; fi",
        call("read_output", { command_id: "bg-call-1" }),
      ]);
      await other.event(run, ({ type, data }) => type === "command.started" && data.command_id === "call-2");
      await waitForSleep(mark);
      process.kill(worker.pid, "SIGKILL");
      await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
      await other.expireLease(run);
      await other.worker();
      await other.until(run, "SUCCEEDED");
      const events = await other.events(run);
      const started = ofType(events, "command.started").filter(({ data }) => data.background);
      expect(started.map(({ attempt }) => attempt)).toEqual([1, 2]);
      expect(answers(events).at(-1)).toContain("Background command bg-call-1 not found in this turn");
      await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
    } finally {
      await other.stop();
    }
  });
});

describe("an output that is too long to show", () => {
  const inFile = (path: string, pattern: string) => call("search_files", { pattern, path });

  test("is a file in the sandbox, without secrets, until the run continues in another sandbox", async () => {
    await installation.call("PUT", "/agent/secrets/LONG_TOKEN", {
      body: { value: "a-secret-in-long-output" },
    });
    const { body } = await installation.call("POST", "/agent/environments", {
      body: { name: "long outputs", secrets: ["LONG_TOKEN"] },
    });
    const config = { environment_id: body.environment_id, idle_timeout_minutes: 0 };
    const { run, events } = await finished(
      [
        'RUN: seq 40000; echo "token: $LONG_TOKEN"; seq 40000',
        inFile("/tmp/outrider/output-1.log", "^30000$|^token"),
        "RUN: seq 30000; exit 3",
        'CALL: read_file {"path": "/tmp/outrider/output-2.log", "offset": 29999}',
        "RUN: seq 10",
      ],
      { config },
    );
    const ends = ofType(events, "command.finished").map(({ data }) => data);
    expect(ends.map(({ output_path }) => output_path)).toEqual([
      "/tmp/outrider/output-1.log",
      "/tmp/outrider/output-2.log",
      undefined,
    ]);
    expect(ends[0]?.artifact_id).toEqual(expect.any(String));
    const [found, page] = answers(events);
    expect(found).toMatch(/\n30000: 30000\n40001: token: \S+\n70001: 30000$/);
    expect(found).not.toContain("a-secret");
    expect(page).toBe("29999\t29999\n30000\t30000\n");
    await installation.followUp(run, [
      'CALL: read_file {"path": "/tmp/outrider/output-2.log"}',
      "RUN: seq 50000",
    ]);
    await installation.until(run, "SUCCEEDED");
    const later = await installation.events(run);
    expect(answers(later).at(-1)).toMatch(/^1\tThe output in this file was lost/);
    expect(ofType(later, "command.finished").at(-1)?.data.output_path).toBe("/tmp/outrider/output-3.log");
  });

  test("of a background command is named when the command has ended", async () => {
    const { events } = await finished([
      start("seq 50000"),
      call("read_output", { command_id: "bg-call-1", wait_ms: 30_000 }),
      inFile("/tmp/outrider/output-1.log", "^25000$"),
    ]);
    expect(answers(events)[1]).toMatch(
      /\[exit code 0; the complete output is in \/tmp\/outrider\/output-1.log\]$/,
    );
    expect(answers(events)[2]).toMatch(/\n25000: 25000$/);
  });
});

describe("file tools", () => {
  test("edit, find and search files of commands, and report each change once", async () => {
    const { run, events } = await finished([
      "RUN: mkdir -p 'my src' && printf 'one\\ntwo\\n' > 'my src/-a b.txt' && printf 'x\\ty\\n' > $'new\\nline'",
      call("find_files", { pattern: "*" }),
      call("edit_file", { path: "my src/-a b.txt", edits: [{ old_text: "two", new_text: "2" }] }),
      call("search_files", { pattern: "^(2|x\\t)" }),
      call("read_file", { path: "my src/-a b.txt" }),
      "RUN: cat 'my src/-a b.txt'",
    ]);
    expect(answers(events)).toEqual([
      "my src/-a b.txt\nnew\nline",
      "Changed my src/-a b.txt: 1 replacement, the first at line 2.",
      "my src/-a b.txt\n2: 2\n\nnew\nline\n1: x\ty",
      "1\tone\n2\t2\n",
    ]);
    expect(outputOf(events)).toBe("one\n2\n");
    const changed = ofType(events, "file.changed").filter(({ data }) => data.path === "my src/-a b.txt");
    expect(changed.map(({ data }) => data.kind)).toEqual(["created", "modified"]);
    expect(changed[1]?.data.patch).toContain("-two\n+2\n");
    expect((await installation.call("GET", `/agent/runs/${run}/diff`)).text).toContain("+2\n");
  });

  test("follow links as a command would and see nothing of the host", async () => {
    const { events } = await finished([
      "RUN: ln -s /etc/passwd out; ln -s / root; mkdir d; echo inside > d/f; ln -s d l; ln -s /nowhere lost; head -1 out",
      call("read_file", { path: "out", limit: 1 }),
      call("read_file", { path: "../../../../../../etc/passwd", limit: 1 }),
      call("read_file", { path: "root/proc/1/environ" }),
      call("read_file", { path: "lost" }),
      call("find_files", { pattern: "*" }),
      call("find_files", { pattern: "*", path: "l" }),
      call("search_files", { pattern: "inside" }),
      call("edit_file", { path: "l/f", edits: [{ old_text: "inside", new_text: "changed" }] }),
      "RUN: cat d/f; test -L l && echo still a link",
    ]);
    const [out, up, environ, lost, all, below, found] = answers(events);
    const first = `1\t${outputOf(events, "call-1").trim()}\n[lines 1 to 1 of `;
    expect(out?.startsWith(first)).toBe(true);
    expect(up?.startsWith(first)).toBe(true);
    expect(lost).toBe("lost is a link to /nowhere, which does not exist.");
    expect(environ).not.toContain("OUTRIDER");
    expect(all).toBe("d/f");
    expect(below).toBe("l/f");
    expect(found).toBe("d/f\n1: inside");
    expect(outputOf(events, "call-10")).toBe("changed\nstill a link\n");
  });

  test("resolve the home folder as a shell does", async () => {
    const { events } = await finished([
      "RUN: mkdir ~/d '~'; echo at home > ~/d/f; echo here > '~/f'",
      call("read_file", { path: "~/d/f" }),
      call("edit_file", { path: "~/d/f", edits: [{ old_text: "at", new_text: "sweet" }] }),
      call("find_files", { pattern: "f", path: "~" }),
      call("search_files", { pattern: "home", path: "~/d" }),
      call("write_file", { path: "~/g", text: "new" }),
      call("read_file", { path: "./~/f" }),
      "RUN: cat ~/d/f ~/g",
    ]);
    expect(answers(events)).toEqual([
      "1\tat home\n",
      "Changed ~/d/f: 1 replacement, the first at line 1.",
      "/home/sandbox/d/f",
      "/home/sandbox/d/f\n1: sweet home",
      "Created ~/g, 3 bytes.",
      "1\there\n",
    ]);
    expect(outputOf(events)).toBe("sweet home\nnew");
  });

  test("page through a huge file and refuse to edit it", async () => {
    const { events } = await finished([
      "RUN: seq -f 'row %.0f' 2000000 > huge",
      call("read_file", { path: "huge", offset: 1_999_999 }),
      call("edit_file", { path: "huge", edits: [{ old_text: "row 7", new_text: "" }] }),
    ]);
    const [page, edit] = answers(events);
    expect(page).toBe("1999999\trow 1999999\n2000000\trow 2000000\n");
    expect(edit).toContain("Change it with a command");
  });

  test("do not run what a hostile repository configures for git", async () => {
    const { events } = await finished([
      "RUN: git init -q r && cd r && echo x > f && git config core.fsmonitor 'touch /tmp/injected' && git config core.pager 'touch /tmp/injected'",
      call("find_files", { pattern: "*" }),
      call("search_files", { pattern: "x" }),
      "RUN: ls /tmp/injected 2> /dev/null || echo clean",
    ]);
    expect(answers(events)).toEqual(["r/f", "r/f\n1: x"]);
    expect(outputOf(events)).toBe("clean\n");
  });
});

describe("keep_artifact", () => {
  test("stores files of all kinds", async () => {
    const { run, events } = await finished([
      "RUN: echo '# done' > report.md; head -c 3000000 /dev/urandom > 'a b.bin'; sha256sum < 'a b.bin'",
      call("keep_artifact", { path: "report.md" }),
      call("keep_artifact", { path: "a b.bin", name: "noise" }),
      call("keep_artifact", { path: "none" }),
      call("keep_artifact", { path: "." }),
    ]);
    const { artifacts } = await installation.get(run);
    expect(artifacts).toMatchObject([
      { name: "report.md", mime_type: "text/markdown", size_bytes: 7 },
      { name: "noise", mime_type: "application/octet-stream", size_bytes: 3_000_000 },
      { artifact_type: "PATCH" },
    ]);
    expect(ofType(events, "artifact.added")).toHaveLength(2);
    expect(answers(events).slice(2)).toEqual(["none does not exist.", ". is not a file."]);
    const content = `${installation.origin}/api/v1/agent/artifacts/${artifacts[1].artifact_id}/content`;
    const response = await fetch(content, { headers: { authorization: `Bearer ${installation.key}` } });
    const digest = await crypto.subtle.digest("SHA-256", await response.arrayBuffer());
    expect(outputOf(events)).toContain(Buffer.from(digest).toString("hex"));
  });

  test("rejects a file that is too large", async () => {
    const { events } = await finished([
      "RUN: truncate -s 101M large",
      call("keep_artifact", { path: "large" }),
    ]);
    expect(answers(events)[0]).toContain("large is larger than 104857600 bytes");
  });

  test("masks a secret in a text file and rejects a binary file with one", async () => {
    const value = "tok-A1b2/c3d4+e5f6";
    await installation.call("PUT", "/agent/secrets/KEEP_TOKEN", { body: { value } });
    const body = { name: "keeps", secrets: ["KEEP_TOKEN"] };
    const { environment_id } = (await installation.call("POST", "/agent/environments", { body })).body;
    const { run, events } = await finished(
      [
        'RUN: echo "a $KEEP_TOKEN b" > text; printf "\\\\0%s" "$KEEP_TOKEN" > binary; printf "\\\\0none" > other',
        'RUN: printf "%s\\\\n" "$(echo -n "xx$KEEP_TOKEN" | base64 | head -c 20)" "$(echo -n "xx$KEEP_TOKEN" | base64 | tail -c +21)" last > wrapped',
        call("keep_artifact", { path: "text" }),
        call("keep_artifact", { path: "binary" }),
        call("keep_artifact", { path: "other" }),
        call("read_file", { path: "text" }),
        call("read_file", { path: "wrapped" }),
        call("search_files", { pattern: "tok-" }),
        call("edit_file", { path: "text", edits: [{ old_text: "c", new_text: "d" }] }),
        start('echo "$KEEP_TOKEN"'),
        call("read_output", { command_id: "bg-call-10", wait_ms: 20_000 }),
      ],
      { config: { environment_id } },
    );
    const results = answers(events);
    expect(results[0]).toContain("Secrets in it were masked.");
    expect(results[1]).toContain("is a binary file that contains a secret");
    expect(results[2]).not.toContain("masked");
    expect(results[3]).toBe("1\ta *** b\n");
    expect(results[4]).toMatch(/^1\t.{0,4}\*\*\*\n2\t.{0,4}\n3\tlast\n$/);
    expect(results.at(-1)).toBe("***\n[exit code 0]");
    const { artifacts } = await installation.get(run);
    const text = await installation.call("GET", `/agent/artifacts/${artifacts[0].artifact_id}/content`);
    expect(text.text).toBe("a *** b\n");
    for (const form of [value, Buffer.from(value).toString("base64"), "c3d4+e5f6"])
      expect(JSON.stringify(events)).not.toContain(form);
  });
});

test("a binary file is stored unchanged even if a secret has non-ASCII characters", async () => {
  await installation.call("PUT", "/agent/secrets/KEEP_WORD", { body: { value: "grün-wie-gräser-123" } });
  const body = { name: "keeps words", secrets: ["KEEP_WORD"] };
  const { environment_id } = (await installation.call("POST", "/agent/environments", { body })).body;
  const { events } = await finished(
    [
      'RUN: printf "\\0\\377\\303none" > plain; printf "\\0\\377%s" "$KEEP_WORD" > secret',
      call("keep_artifact", { path: "plain" }),
      call("keep_artifact", { path: "secret" }),
    ],
    { config: { environment_id } },
  );
  expect(answers(events)[0]).toMatch(
    /^Saved plain \(application\/octet-stream, 7 bytes\) as artifact \S+\.$/,
  );
  expect(answers(events)[1]).toContain("is a binary file that contains a secret");
});

test("an image is stored without the secret that it contains", async () => {
  const value = "tok-A1b2/c3d4+e5f6";
  await installation.call("PUT", "/agent/secrets/IMAGE_TOKEN", { body: { value } });
  const body = { name: "images", secrets: ["IMAGE_TOKEN"] };
  const { environment_id } = (await installation.call("POST", "/agent/environments", { body })).body;
  const { run } = await finished(
    [
      'RUN: printf "\\211PNG\\r\\n\\032\\n<%s>" "$IMAGE_TOKEN" > image.png',
      call("read_file", { path: "image.png" }),
    ],
    { config: { environment_id } },
  );
  const { artifacts } = await installation.get(run);
  const { text } = await installation.call("GET", `/agent/artifacts/${artifacts[0].artifact_id}/content`);
  expect(text).toMatch(/PNG.*<\*\*\*>$/s);
});

test("an image is added to the transcript as an artifact", async () => {
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const { run, events } = await finished([
    `RUN: echo ${png} | base64 -d > dot.png`,
    call("read_file", { path: "dot.png" }),
  ]);
  const { images } = ofType(events, "tool.returned")[0]?.data ?? {};
  const { artifacts } = await installation.get(run);
  expect(images).toEqual([{ artifact_id: artifacts[0].artifact_id, mime_type: "image/png" }]);
});

test("a run over its artifact limit stores only the ends of outputs and emits a notice", async () => {
  const { run } = await finished(["RUN: seq 1 40000"]);
  await installation.db`update events set data = data || '{"size_bytes": 1073741824}'
    where run_id = ${run} and type = 'artifact.added'`;
  await installation.followUp(run, ["RUN: seq 1 40000 | tee a", call("keep_artifact", { path: "a" })]);
  await installation.until(run, "SUCCEEDED");
  const events = (await installation.events(run)).filter(({ turn }) => turn === 2);
  expect(ofType(events, "artifact.added")).toEqual([]);
  expect(ofType(events, "command.finished")[0]?.data).not.toHaveProperty("artifact_id");
  expect(outputOf(events, "call-2")).toContain("bytes omitted");
  expect(answers(events)[0]).toContain("has reached its artifact limit");
  const notices = ofType(events, "notice").map(({ data }) => data.code);
  expect(notices.filter((code) => code === "output_not_kept")).toHaveLength(1);
});
