import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { openBuildKit } from "../../src/sandboxes/docker/buildkit/buildkit.ts";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { describeEngine } from "../../src/sandboxes/docker/engine/describe.ts";
import { removeImage } from "../../src/sandboxes/docker/images/remove-image.ts";
import { labelFilters, labelNames } from "../../src/sandboxes/docker/labels.ts";
import type { Worker } from "../../src/worker.ts";
import {
  type DockerfileInstallation,
  startDockerfileInstallation,
} from "../dockerfiles/dockerfile-installation.ts";
import { layer } from "../images/images-support.ts";
import { makeImage, push } from "../images/registry-server.ts";
import { systemLayer } from "../images/system-image.ts";
import { outputOf } from "../installation.ts";
import { newOwner } from "./docker-support.ts";
import { canRunEngines, startDocker, type TestEngine } from "./test-engine.ts";

/** Whether a process of this machine, which is the engine's too, sleeps for this long. */
function isRunning(seconds: string): boolean {
  return readdirSync("/proc").some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8") === `sleep\0${seconds}\0`;
    } catch {
      return false; // it has ended
    }
  });
}

describe.runIf(canRunEngines)("a worker whose Dockerfiles are built by BuildKit", () => {
  let installation: DockerfileInstallation;
  let worker: Worker;
  let engine: TestEngine;
  let host: string;
  let reference: string;
  let toolReference: string;
  const startWorker = () =>
    installation.startWorker({ sandbox: "docker", docker: { engine: { host }, builder: "buildkit" } });

  beforeAll(async () => {
    // Its results are removed, so others must not use it.
    engine = await startDocker();
    host = engine.host;
    installation = await startDockerfileInstallation();
    const { registry } = installation;
    const image = makeImage({
      layers: [systemLayer({ "etc/flavor": "vanilla\n", "etc/kept": "kept\n" })],
      config: { Env: ["PATH=/usr/bin:/bin", "FLAVOR=vanilla"], WorkingDir: "/var" },
    });
    reference = await push(registry, `acme/system-${randomUUID().slice(0, 8)}:1`, image);
    const tool = makeImage({ layers: [layer({ name: "tool", text: "echo tool\n" })] });
    toolReference = await push(registry, "acme/tool:1", tool);
    worker = await startWorker();
  });
  afterAll(async () => {
    await installation.stop();
    await engine.stop();
  });

  /** Returns the ids of the images of Dockerfiles that the engine has now. */
  async function imagesOf(build_id: string): Promise<string[]> {
    const { docker } = await openEngine({ host });
    const filters = JSON.stringify(labelFilters({ [labelNames.label]: JSON.stringify({ build_id }) }));
    return (await docker.listImages({ all: true, filters })).map(({ Id }) => Id);
  }

  /** Removes a build and everything that BuildKit has kept from the engine. */
  async function removeBuild(build_id: string): Promise<void> {
    const { docker } = await openEngine({ host });
    for (const id of await imagesOf(build_id)) await removeImage(docker, id);
    expect(await imagesOf(build_id)).toEqual([]);
    const all: object = { all: true }; // the types lack it
    await docker.pruneBuilder(all);
  }

  test("gives runs on all workers the result, and executes only what has changed", async () => {
    const dockerfile = `# syntax=nowhere.invalid/frontend:1
ARG TAG=none
FROM ${reference.replace(/:1$/, ":${TAG}")} \\
  AS base
RUN rm /etc/flavor && mkdir /made && echo one > /made/one
FROM base AS unused
RUN false
FROM base
COPY --from=${toolReference} /tool /made/bin/
ADD data.tar.gz /made/data
RUN --mount=type=cache,target=/cache echo two > /made/two; echo printed; ls /sys/class/net
COPY . /made/all
RUN touch /made/made-by-$(id -un) && rm /made/one && echo 'builder:x:2000:2000::/home/builder:/bin/bash' >> /etc/passwd && mkdir -p /home/builder && : ${"x".repeat(200)}
USER builder
WORKDIR /made
ENV FLAVOR="$FLAVOR and more"
`;
    const packed = installation.makeOrigin({ packed: "packed\n" });
    const origin = installation.makeOrigin({});
    packed.run("archive", `--output=${origin.copy}/data.tar.gz`, "HEAD", "packed");
    const files = { Dockerfile: dockerfile, ".dockerignore": "ignored\n", ignored: "", "src/page": "page\n" };
    origin.push("main", files);
    const environment_id = await installation.environment(files, {
      dockerfile: { path: "Dockerfile", args: { TAG: "1" } },
      repos: [{ url: `file://${origin.bare}`, path: "site" }],
      network: { mode: "none" },
      setup_commands: ["cp /made/two /etc/last"],
    });
    const script = [
      "RUN: cd /made && find . -type f | sort; ls /etc/flavor /cache 2>&1; cat /etc/kept /etc/last all/src/page data/packed",
      "RUN: id -un; echo $FLAVOR; pwd; grep -c FROM.*@sha256: /made/all/Dockerfile",
    ];
    const expected = [
      "./all/.dockerignore\n./all/Dockerfile\n./all/data.tar.gz\n./all/src/page\n./bin/tool\n./data/packed\n./made-by-root\n./two\n",
      "ls: cannot access '/etc/flavor': No such file or directory\n/cache:\nkept\ntwo\npage\npacked\n",
      "builder\nvanilla and more\n/workspace/site\n1\n",
    ].join("");
    const first = await installation.runIn(environment_id, script);
    expect(first.output).toBe(expected);
    const { build_id } = first.item.receipt.environment;
    const log = await installation.logOf(environment_id, build_id);
    expect(log).toContain("RUN --mount=type=cache,target=/cache echo two");
    const texts = JSON.parse(log).events.flatMap(({ data }: { data: { text?: string } }) => data.text ?? []);
    expect(texts.join("")).toContain("printed\nlo\n");
    expect(log).not.toContain("RUN false");
    expect(log).not.toContain("an earlier build");
    expect(log).not.toContain("x".repeat(200));

    origin.push("main", { "src/page": "new page\n" });
    const started = await installation.call("POST", `/agent/environments/${environment_id}/builds`);
    const secondPath = `/agent/environments/${environment_id}/builds/${started.body.build_id}`;
    await vi.waitUntil(
      async () => (await installation.call("GET", secondPath)).body.state === "READY",
      waitOptions,
    );
    const second = await installation.runIn(environment_id, ["RUN: cat /made/all/src/page /made/two"]);
    expect(second.output).toBe("new page\ntwo\n");
    expect(second.item.receipt.environment.build_id).toBe(started.body.build_id);
    expect(await installation.logOf(environment_id, started.body.build_id)).toContain("an earlier build");

    // Another worker fetches the build, for an engine that lacks it, and a continued run gets the same there.
    await vi.waitUntil(async () => !(await installation.get(first.id)).is_sandbox_running, waitOptions);
    await worker.drain();
    await removeBuild(build_id);
    worker = await startWorker();
    await installation.followUp(first.id, script);
    await vi.waitUntil(async () => (await installation.get(first.id)).turns === 2, waitOptions);
    const item = await installation.until(first.id, "SUCCEEDED");
    expect(item.receipt.environment.build_id).toBe(build_id);
    expect(outputOf(await installation.events(first.id)).slice(expected.length)).toBe(expected);
  });

  test("names the line of an instruction that fails, and leaves no image behind", async () => {
    const failures = await Promise.all([
      installation.failureOf(`FROM ${reference} AS a\n\nRUN echo denied: one \\\n  && exit 3`),
      installation.failureOf(`FROM ${reference}\nCOPY nope /x`),
      installation.failureOf(`FROM ${reference}\nRUN true\nUSER nobody-here`),
    ]);
    expect(failures[0]).toBe(
      "Dockerfile line 3: `RUN echo denied: one && exit 3` exited with code 3. Last lines of its output:\ndenied: one",
    );
    expect(failures[1]).toMatch(/^Dockerfile( line 2)?: .*nope.*not found/);
    expect(failures[2]).toBe('The image has no user "nobody-here": set `user` to one that it has.');
    const builds = await installation.db<
      { build_id: string }[]
    >`select build_id from builds where state = 'FAILED'`;
    expect(builds).toHaveLength(3);
    for (const { build_id } of builds) expect(await imagesOf(build_id)).toEqual([]);
  });

  test("executes in sandboxes what BuildKit must not or cannot do", async () => {
    const plain = `FROM ${reference}\nRUN echo made > /made`;
    const noticeOf = async (dockerfile: string, body: object, files: Record<string, string> = {}) => {
      const environment_id = await installation.environment({ Dockerfile: dockerfile, ...files }, body);
      const { output, item } = await installation.runIn(environment_id, ["RUN: cat /made"]);
      expect(output).toBe("made\n");
      const log = await installation.logOf(environment_id, item.receipt.environment.build_id);
      return /is executed in sandboxes, without BuildKit, because (.*?)\."/.exec(log)?.[1];
    };
    await installation.call("PUT", "/agent/secrets/TOKEN", { body: { value: "very-secret-value" } });
    const reasons = await Promise.all([
      noticeOf(plain, { network: { mode: "allowlist", allow: ["example.com"] } }),
      noticeOf(`${plain}\nRUN --mount=type=secret,id=TOKEN true`, { build_secrets: ["TOKEN"] }),
      noticeOf(plain, { dockerfile: { path: "Dockerfile", context: "sub" } }, { "sub/x": "" }),
      noticeOf(`${plain}\nRUN <<EOF\ntrue\nEOF`, { network: { mode: "none" } }),
      noticeOf(plain, { network: { mode: "none" } }),
    ]);
    expect(reasons).toEqual([
      "the environment's network is an allowlist",
      "it uses secrets",
      "the file is not in its build context",
      "the engine is too old for heredocs and `--link`",
      undefined,
    ]);
  });

  test("opens a shell in a sandbox, where an instruction fails", async () => {
    const environment_id = await installation.environment(
      { Dockerfile: `FROM ${reference}\nRUN echo made > /made\nRUN exit 3` },
      { network: { mode: "none" } },
    );
    const shells = `/agent/environments/${environment_id}/shells`;
    const { shell_id } = (await installation.call("POST", shells, { body: {} })).body;
    const data = Buffer.from("grep -q made /made && exit 4\n").toString("base64");
    await installation.call("PUT", `${shells}/${shell_id}/input`, { body: { seq: 1, data } });
    const path = `${shells}/${shell_id}/events`;
    const { text } = await installation.call("GET", path, { accept: "text/event-stream" });
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json as string));
    expect(events.find(({ type }) => type === "opened")).toMatchObject({
      data: { failed_step: "RUN exit 3" },
    });
    expect(events.at(-1)).toMatchObject({ type: "closed", data: { exit_code: 4 } });
  });

  test("ends the command of a build that nobody needs any more", async () => {
    const marker = `7${randomUUID().replaceAll(/\D/g, "").slice(0, 6)}`;
    const environment_id = await installation.environment(
      { Dockerfile: `FROM ${reference}\nRUN sleep ${marker}` },
      { network: { mode: "none" } },
    );
    await installation.call("POST", `/agent/environments/${environment_id}/builds`);
    await vi.waitUntil(() => isRunning(marker), waitOptions);
    await installation.db`delete from builds where environment_id = ${environment_id}`;
    await vi.waitUntil(() => !isRunning(marker), waitOptions);
  });
});

describe.runIf(canRunEngines)("BuildKit", () => {
  const openWith = async ({ host }: TestEngine, runtime?: string) => {
    const engine = await openEngine({ host });
    const description = await describeEngine(engine);
    const log = { info() {}, warn() {}, error() {} };
    return openBuildKit({ engine, owner: newOwner(), description, runtime, maxCacheBytes: 0, log });
  };
  const problem =
    "BuildKit cannot execute commands with the runtime runsc. Remove --docker-builder (OUTRIDER_DOCKER_BUILDER).";

  test("is refused if the runtime of containers has a kernel of its own, also as the engine's default", async () => {
    // No container starts, so gVisor does not have to be installed.
    const engine = await startDocker({ hasGvisor: true, args: ["--default-runtime=runsc"] });
    onTestFinished(() => engine.stop());
    await expect(openWith(engine)).rejects.toThrow(problem);
    await expect(openWith(engine, "runsc")).rejects.toThrow(problem);
    await expect(openWith(engine, "runc")).resolves.toBeDefined();
  });
});
