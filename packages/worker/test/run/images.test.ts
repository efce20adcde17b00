import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import type { Worker } from "../../src/worker.ts";
import { layer } from "../images/images-support.ts";
import { makeImage, push, type RegistryServer, startRegistry } from "../images/registry-server.ts";
import { busyboxLayer, systemLayer } from "../images/system-image.ts";
import { type Event, outputOf, startTestInstallation, type TestInstallation } from "../installation.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";

/** Runs in environments with an image, end to end. Only a worker that is root can use images. */
describe.runIf(process.getuid?.() === 0)("an environment with an image", () => {
  let installation: TestInstallation;
  let worker: Worker;
  let registry: RegistryServer;
  let temporary: ReturnType<typeof makeFolder>;
  let site: Origin;
  let digest: string;
  let reference: string;

  beforeAll(async () => {
    temporary = makeFolder();
    site = new Origin(temporary.folder, "site");
    site.push("main", { "README.md": "hello\n", "src/page.txt": "one\ntwo\n" });
    registry = await startRegistry();
    const image = makeImage({
      layers: [systemLayer({ "etc/flavor": "vanilla\n" })],
      config: { Env: ["PATH=/usr/bin:/bin", "FLAVOR=vanilla"], WorkingDir: "/var" },
    });
    digest = image.digest;
    reference = await push(registry, "acme/system:1", image);
    installation = await startTestInstallation();
    worker = await installation.worker(settings());
  });
  afterAll(async () => {
    await installation.stop();
    await registry.close();
    temporary.remove();
  });

  const settings = () => ({ repositoryPaths: [temporary.folder], allowedAddresses: "127.0.0.1" });

  async function environment(body: object = {}): Promise<string> {
    const reply = await installation.call("POST", "/agent/environments", {
      body: { name: `env ${randomUUID().slice(0, 8)}`, docker_image: reference, ...body },
    });
    expect(reply).toMatchObject({ status: 201 });
    return reply.body.environment_id;
  }

  test("provides the system, variables and user of commands, and setup commands change it as root", async () => {
    const environment_id = await environment({
      setup_commands: [
        "pwd > /etc/setup; id -u >> /etc/setup",
        "echo 'echo installed' > /usr/bin/tool; chmod 755 /usr/bin/tool",
      ],
    });
    const { item, output, events } = await installation.runIn(environment_id, [
      "RUN: cat /etc/flavor /etc/setup; echo $FLAVOR; id; tool; pwd; echo ~",
    ]);
    expect(output).toBe(
      "vanilla\n/var\n0\nvanilla\nuid=0(root) gid=0(root) groups=0(root)\ninstalled\n/workspace\n/root\n",
    );
    expect(item.receipt.environment.image).toEqual({ reference, digest });
    const { build_id } = item.receipt.environment;
    const log = await installation.call(
      "GET",
      `/agent/environments/${environment_id}/builds/${build_id}/events`,
    );
    const number = expect.any(Number);
    const finished = (name: string) => ({
      type: "step",
      data: { name, state: "finished", size_bytes: number, duration_ms: number },
    });
    expect(log.body.events).toEqual(
      expect.arrayContaining(
        [finished(`pull ${reference}`), finished("store")].map((event) => expect.objectContaining(event)),
      ),
    );
    const texts = log.body.events.map(({ data }: Event) => data.text);
    expect(texts).toContainEqual(expect.stringMatching(/^Layer 1 of 1: [\d.]+ MiB\.\n$/));
    expect(texts).toContainEqual(expect.stringMatching(/^Total: [\d.]+ MiB in [\d.]+ s\.\n$/));
    expect(item.receipt.resources.ids).toEqual({ enforced: true, by: "id-mapped mounts" });
    expect(events.find(({ type }) => type === "run.started")?.data.instructions).toContain("Test Linux 1");
  });

  test("has shells where its build fails, as root", async () => {
    const environment_id = await environment({
      user: "worker",
      setup_commands: ["touch /etc/new", "exit 3"],
    });
    const shells = `/agent/environments/${environment_id}/shells`;
    const { shell_id } = (await installation.call("POST", shells, { body: {} })).body;
    const commands = "id -u; pwd; ls /etc/new; cat /etc/flavor; echo $FLAVOR; exit 4\n";
    const data = Buffer.from(commands).toString("base64");
    await installation.call("PUT", `${shells}/${shell_id}/input`, { body: { seq: 1, data } });
    const path = `${shells}/${shell_id}/events`;
    const { text } = await installation.call("GET", path, { accept: "text/event-stream" });
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json as string));
    const opened = events.findIndex(({ type }) => type === "opened");
    expect(events[opened] ?? events).toMatchObject({ data: { failed_step: "exit 3" } });
    const output = events
      .slice(opened)
      .flatMap(({ type, data }) => (type === "output" ? [Buffer.from(data.data, "base64").toString()] : []));
    expect(output.join("")).toBe("0\n/var\n/etc/new\nvanilla\nvanilla\n");
    expect(events.at(-1)).toMatchObject({ type: "closed", data: { exit_code: 4 } });
  });

  test("works with repositories, file tools and follow-ups as another user", async () => {
    const environment_id = await environment({
      user: "worker",
      repos: [{ url: `file://${site.bare}`, path: "site" }],
      setup_commands: ["touch made-by-root; mkdir deps"],
    });
    const first = await installation.runIn(environment_id, [
      "RUN: id; pwd; echo ~; head -n1 /etc/hosts; grep -c '^.include]' /opt/outrider/gitconfig; grep -c HEAD:refs/heads/outrider/ /opt/outrider/gitconfig-push; echo more >> README.md; touch deps/x made-by-root; ls -ln | tail -n +2 | cut -d' ' -f3 | sort -u",
      "WRITE: src/new.txt | new",
      'CALL: read_file {"path": "src/page.txt"}',
      'CALL: find_files {"pattern": "*.txt"}',
      'CALL: search_files {"pattern": "two"}',
    ]);
    expect(first.output).toBe(
      "uid=1234(worker) gid=1234(worker) groups=1234(worker),4321(extra)\n/workspace/site\n/home/worker\n127.0.0.1 localhost sandbox\n1\n1\n1234\n",
    );
    const results = first.events
      .filter(({ type }) => type === "tool.returned")
      .map(({ data }) => data.output);
    expect(results.slice(-3)).toEqual([
      expect.stringMatching(/^1\tone\n/),
      "src/new.txt\nsrc/page.txt",
      "src/page.txt\n2: two",
    ]);
    const changed = first.events.filter(({ type }) => type === "file.changed").map(({ data }) => data.path);
    expect(changed.sort()).toEqual(["README.md", "deps/x", "src/new.txt"]);
    const { text } = await installation.call("GET", `/agent/runs/${first.id}/diff`);
    expect(text).toContain("+more");
    expect(text).toContain("+++ b/src/new.txt");
  });

  test("stores only changed files, with the home of the user", async () => {
    const { id } = await installation.runIn(await environment({ user: "worker" }), [
      "RUN: ls -la ~; id > /tmp/id",
    ]);
    const snapshot = async () =>
      (await installation.db`select snapshot_sha256 from runs where run_id = ${id}`)[0]?.snapshot_sha256;
    expect(await snapshot()).toBeNull();
    for (const [index, command] of ["echo kept > ~/own", "cat ~/own; stat -c %U ~/own"].entries()) {
      await vi.waitUntil(async () => !(await installation.get(id)).is_sandbox_running, waitOptions);
      await installation.followUp(id, [`RUN: ${command}`]);
      await vi.waitUntil(async () => (await installation.get(id)).turns === index + 2, waitOptions);
      await installation.until(id, "SUCCEEDED");
      expect(await snapshot()).toEqual(expect.any(String));
    }
    expect(outputOf(await installation.events(id)).slice(-12)).toBe("kept\nworker\n");
  });

  test("takes image, variables, user and commands from a devcontainer.json", async () => {
    const writeFile = (file: object) =>
      site.push("main", {
        ".devcontainer/devcontainer.json": `// The team's container\n${JSON.stringify(file)}`,
      });
    const file = {
      image: reference,
      containerEnv: { FLAVOR: "${containerEnv:FLAVOR} and more", KIND: "file", LOST: "${localEnv:LOST}" },
      remoteEnv: { PATH: "${containerEnv:PATH}:${containerWorkspaceFolder}/bin" },
      remoteUser: "worker",
      onCreateCommand: ["bash", "-c", "echo created by $(id -un) in $PWD > made"],
      updateContentCommand: { a: "echo a > part-a", b: ["tee", "part-b"] },
      postCreateCommand: "cat part-a >> made; mkdir bin; echo 'echo tool' > bin/tool; chmod 755 bin/tool",
      postStartCommand: "echo $KIND $(id -un) >> ~/started",
    };
    writeFile(file);
    const environment_id = await environment({
      docker_image: undefined,
      devcontainer: ".devcontainer/devcontainer.json",
      repos: [{ url: `file://${site.bare}`, path: "site" }],
      variables: { KIND: "environment" },
      setup_commands: ["echo $(id -un) after $(cat made | head -1) > /etc/last"],
      start_commands: ["echo own >> ~/started"],
    });
    const script = ["RUN: cat made /etc/last ~/started; id -un; echo $FLAVOR, $LOST, $KIND; tool"];
    const expected = [
      "created by worker in /workspace/site\na\n",
      "root after created by worker in /workspace/site\n",
      "environment worker\nown\n",
      "worker\nvanilla and more, , environment\ntool\n",
    ].join("");
    const first = await installation.runIn(environment_id, script);
    expect(first.output).toBe(expected);
    expect(first.item.receipt.environment.image).toEqual({ reference, digest });
    const { build_id } = first.item.receipt.environment;
    const path = `/agent/environments/${environment_id}/builds/${build_id}/events`;
    const { text } = await installation.call("GET", path);
    expect(text).toContain("`containerEnv.LOST` is ignored");

    // A continued run keeps what its build had.
    writeFile({ ...file, remoteUser: "root", containerEnv: {}, postStartCommand: "false" });
    await vi.waitUntil(async () => !(await installation.get(first.id)).is_sandbox_running, waitOptions);
    await installation.followUp(first.id, ["RUN: id -un; echo $FLAVOR; cat ~/started"]);
    await vi.waitUntil(async () => (await installation.get(first.id)).turns === 2, waitOptions);
    const item = await installation.until(first.id, "SUCCEEDED");
    expect(item.receipt.environment.build_id).toBe(build_id);
    expect(outputOf(await installation.events(first.id)).slice(expected.length)).toBe(
      // The home is part of the run, so the file has the lines of both starts.
      "worker\nvanilla and more\nenvironment worker\nown\nenvironment worker\nown\n",
    );
  });

  const busybox = busyboxLayer();
  const systemsWithoutBash: { name: string; system: Buffer }[] = [
    {
      name: "dash",
      system: systemLayer({}, { shell: "dash", morePrograms: ["awk", "od", "wc", "xargs"] }),
    },
    ...(busybox ? [{ name: "busybox", system: busybox }] : []),
  ];
  test.each(systemsWithoutBash)(
    "runs commands and tools with sh if the image has no bash: $name",
    async ({ name, system }) => {
      const environment_id = await environment({
        docker_image: await push(registry, `acme/${name}:1`, makeImage({ layers: [system] })),
        setup_commands: [
          "mkdir -p src/deep; echo one > src/a.txt; echo two > src/deep/b.txt; ln -s a.txt src/l",
        ],
        checks: [{ name: "lint", command: "! grep -Hn new {files}", globs: ["*.txt"] }],
      });
      const { events, output } = await installation.runIn(environment_id, [
        "RUN: echo $0 $SHELL",
        'CALL: read_file {"path": "src"}',
        'CALL: read_file {"path": "src/a.txt"}',
        'CALL: read_file {"path": "src/b.txt"}',
        'CALL: find_files {"pattern": "**/*.txt"}',
        'CALL: search_files {"pattern": "t?w?o", "glob": "src/**"}',
        "WRITE: src/a.txt | new",
        'CALL: keep_artifact {"path": "src/a.txt"}',
      ]);
      expect(output).toBe("/bin/sh /bin/sh\n");
      const results = events
        .filter(({ type }) => type === "tool.returned" || type === "tool.failed")
        .map(({ data }) => data.output ?? data.message);
      expect(results).toEqual([
        "src is a folder:\na.txt\ndeep/\nl@",
        "1\tone\n",
        expect.stringContaining("Similar paths: src/deep/b.txt"),
        "src/a.txt\nsrc/deep/b.txt",
        "src/a.txt\n1: one\n\nsrc/deep/b.txt\n1: two",
        expect.stringContaining("src/a.txt:1:new"),
        expect.stringContaining("a.txt"),
      ]);
      const { instructions } = events.find(({ type }) => type === "run.started")?.data ?? {};
      expect(instructions).toContain("Commands run with /bin/sh: bash is not installed");
    },
  );

  test("says what a devcontainer.json must not contain", async () => {
    const failureOf = async (file: object | undefined) => {
      const origin = new Origin(temporary.folder, `dev-${randomUUID().slice(0, 8)}`);
      origin.push("main", { "a.txt": "a", ...(file ? { ".devcontainer.json": JSON.stringify(file) } : {}) });
      const environment_id = await environment({
        docker_image: undefined,
        devcontainer: ".devcontainer.json",
        repos: [{ url: `file://${origin.bare}`, path: "dev" }],
      });
      const id = await installation.create(["RUN: true"], { config: { environment_id } });
      return (await installation.until(id, "FAILED")).status_message;
    };
    const features = { "ghcr.io/devcontainers/features/go:1": {} };
    expect(await failureOf({ image: reference, features })).toMatchObject({
      error_code: "environment_setup_failed",
      message: expect.stringContaining("The feature ghcr.io/devcontainers/features/go:1 is not supported"),
    });
    expect(await failureOf({ build: { dockerfile: "../Dockerfile" } })).toMatchObject({
      error_code: "environment_setup_failed",
      message: expect.stringContaining(".devcontainer.json: `build.dockerfile` must be the relative path"),
    });
    expect(await failureOf(undefined)).toMatchObject({
      error_code: "environment_setup_failed",
      message: expect.stringContaining("has no file .devcontainer.json"),
    });
  });

  test("stores the build in chunks, which another worker fetches", async () => {
    const environment_id = await environment({
      user: "worker",
      setup_commands: [
        "head -c 3000000 /dev/urandom > /opt/data; rm /etc/flavor; sha256sum /opt/data > /etc/sum",
      ],
    });
    const first = await installation.runIn(environment_id, ["RUN: cat /etc/sum"]);
    const { build_id } = first.item.receipt.environment;
    const path = `/agent/environments/${environment_id}/builds/${build_id}/events`;
    expect((await installation.call("GET", path)).text).toMatch(
      /Stored 3\.\d MB as (\d) chunks, \1 of them new \(3\.\d MB sent\)\./,
    );
    await worker.drain();
    worker = await installation.worker(settings());
    const second = await installation.runIn(environment_id, [
      "RUN: cat /etc/sum; sha256sum -c /etc/sum; ls /etc/flavor 2>&1; stat -c %u /workspace",
    ]);
    expect(second.output).toBe(
      `${first.output}/opt/data: OK\nls: cannot access '/etc/flavor': No such file or directory\n1234\n`,
    );
    expect(second.item.receipt.environment.build_id).toBe(build_id);
  });

  test("leaves its chunks on the worker, also after a restart", async () => {
    await worker.drain();
    const folder = join(installation.workersFolder, "restarted");
    worker = await installation.worker({ ...settings(), folder });
    await installation.runIn(await environment({ setup_commands: ["echo kept > /opt/kept"] }), [
      "RUN: cat /opt/kept",
    ]);
    const listChunks = () => readdirSync(join(folder, "chunks"));
    const chunks = listChunks();
    expect(chunks).not.toEqual([]);
    await worker.drain();
    worker = await installation.worker({ ...settings(), folder });
    expect(listChunks()).toEqual(chunks);
  });

  test("needs the registry only for tags and for workers without the image", async () => {
    const other = await startRegistry();
    const image = makeImage({ layers: [systemLayer({ "etc/flavor": "chocolate\n" })] });
    const tag = await push(other, "acme/other:1", image);
    const tagged = await environment({ docker_image: tag });
    const pinned = await environment({ docker_image: `${tag}@${image.digest}` });
    const { id } = await installation.runIn(tagged, ["RUN: cat /etc/flavor"]);
    await vi.waitUntil(async () => !(await installation.get(id)).is_sandbox_running, waitOptions);
    await other.close();

    await installation.followUp(id, ["RUN: echo again; cat /etc/flavor"]);
    await vi.waitUntil(async () => (await installation.get(id)).turns === 2, waitOptions);
    await installation.until(id, "SUCCEEDED");
    expect(outputOf(await installation.events(id))).toBe("chocolate\nagain\nchocolate\n");
    expect((await installation.runIn(pinned, ["RUN: cat /etc/flavor"])).output).toBe("chocolate\n");
    const unreachable = {
      error_code: "registry_unreachable",
      retryable: true,
      message: expect.stringContaining(other.host),
    };
    const created = await installation.create(["RUN: true"], { config: { environment_id: tagged } });
    expect((await installation.until(created, "FAILED")).status_message).toMatchObject(unreachable);

    await vi.waitUntil(async () => !(await installation.get(id)).is_sandbox_running, waitOptions);
    await worker.drain();
    worker = await installation.worker(settings());
    await installation.followUp(id, ["RUN: true"]);
    await vi.waitUntil(async () => (await installation.get(id)).turns === 3, waitOptions);
    expect((await installation.until(id, "FAILED")).status_message).toMatchObject(unreachable);
  });

  test("says what is wrong with an image or its user", async () => {
    const failure = async (body: object) => {
      const id = await installation.create(["SAY: x", "RUN: true"], {
        config: { environment_id: await environment(body) },
      });
      return (await installation.until(id, "FAILED")).status_message;
    };
    expect(await failure({ docker_image: `${registry.host}/acme/nope:1` })).toMatchObject({
      error_code: "environment_setup_failed",
      message: expect.stringMatching(/does not have the image/),
    });
    const noShell = await push(
      registry,
      "acme/empty:1",
      makeImage({ layers: [layer({ name: "etc/passwd", text: "root:x:0:0::/root:/bin/sh\n" })] }),
    );
    expect(await failure({ docker_image: noShell })).toMatchObject({
      error_code: "environment_setup_failed",
      message: expect.stringContaining("The image has neither bash nor /bin/sh"),
    });
    expect(await failure({ user: "nobody-here" })).toMatchObject({
      error_code: "environment_setup_failed",
      message: expect.stringContaining('The image has no user "nobody-here"'),
    });
  });
});
