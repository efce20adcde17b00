import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import type { Worker } from "../../src/worker.ts";
import type { WorkerOptions } from "../../src/worker-runtime.ts";
import { layer } from "../images/images-support.ts";
import { makeImage, push } from "../images/registry-server.ts";
import { systemLayer } from "../images/system-image.ts";
import { outputOf } from "../installation.ts";
import { type DockerfileInstallation, startDockerfileInstallation } from "./dockerfile-installation.ts";

type SandboxOptions = Pick<WorkerOptions, "sandbox" | "docker" | "kubernetes">;

/**
 * Environments from a Dockerfile, end to end, with workers of one kind. `getSandbox` returns their options. `registry`: the
 * address of the registry from which they pull.
 */
export function testDockerfileBuilds(
  kind: string,
  getSandbox: (registry: string) => Promise<SandboxOptions>,
): void {
  // Only a worker that is root can use images, and only root can start an engine for tests.
  describe.runIf(process.getuid?.() === 0)(`an environment with a Dockerfile (${kind})`, () =>
    defineTests(getSandbox),
  );
}

function defineTests(getSandbox: (registry: string) => Promise<SandboxOptions>): void {
  let installation: DockerfileInstallation;
  let worker: Worker;
  let digest: string;
  let reference: string;
  let toolReference: string;
  const startWorker = async () => installation.startWorker(await getSandbox(installation.registry.host));
  const failureOf = (dockerfile: string, body?: object, files?: Record<string, string>) =>
    installation.failureOf(dockerfile, body, files);

  beforeAll(async () => {
    installation = await startDockerfileInstallation();
    const { registry } = installation;
    const image = makeImage({
      layers: [systemLayer({ "etc/flavor": "vanilla\n" }, { links: { "etc/link": "/var" } })],
      config: { Env: ["PATH=/usr/bin:/bin", "FLAVOR=vanilla"], WorkingDir: "/var" },
    });
    digest = image.digest;
    reference = await push(registry, "acme/system:1", image);
    // An image that contains only one file, as images of single programs do.
    const tool = makeImage({ layers: [layer({ name: "tool", text: "echo tool\n" })] });
    toolReference = await push(registry, "acme/tool:1", tool);
    worker = await startWorker();
    await installation.call("PUT", "/agent/secrets/BUILD_TOKEN", { body: { value: "very-secret-value" } });
  });
  afterAll(async () => {
    await installation.stop();
  });

  test("executes its stages, and runs on all workers get its files, variables, folder and user", async () => {
    const dockerfile = `
      ARG TAG=none
      FROM ${installation.registry.host}/acme/system:\${TAG} AS base
      ENV FLAVOR="$FLAVOR and more" SHARED=yes
      RUN echo 'builder:x:2000:2000::/home/builder:/bin/bash' >> /etc/passwd && mkdir -p /home/builder

      FROM base AS tools
      ARG NAME=default TARGETARCH
      WORKDIR /made
      RUN echo "$NAME for $TARGETARCH$UNDECLARED" > greeting && ln -s greeting link
      COPY --from=${toolReference} /tool /made/bin/
      RUN ["mkdir", "-p", "sub/a b"]

      FROM base AS unused
      RUN false

      FROM base
      SHELL ["/bin/bash", "-c"]
      ARG NAME
      COPY --from=tools --chown=builder /made /opt/made
      COPY *.txt sub /etc/link/copied/
      COPY --chown=2000:4321 --chmod=640 src/page.txt /srv/page
      ADD data.tar.gz /srv/data
      COPY <<one <<"two" /srv/files/
$FLAVOR
one
$FLAVOR
two
      RUN <<EOF
[[ -n $BASH_VERSION ]] && echo "heredoc of $NAME in $PWD" > /srv/heredoc
EOF
      USER builder
      WORKDIR /srv/work
      RUN id -un > who; echo $HOME >> who; pwd >> who; echo "$SHARED" >> who
      ENV PATH="/opt/made/bin:$PATH"
      CMD ["serve"]
    `.replaceAll(/^ {6}/gm, "");
    const files = {
      Dockerfile: dockerfile,
      ".dockerignore": "# comment\n*.txt\n!keep*.txt\nsub/hidden\n",
      "keep.txt": "keep\n",
      "lost.txt": "lost\n",
      "sub/shown": "shown\n",
      "sub/hidden/x": "x\n",
      "src/page.txt": "page\n",
    };
    const origin = installation.makeOrigin({ packed: "packed\n" });
    origin.run("archive", "--output=data.tar.gz", "HEAD", "packed");
    origin.push("main", files);
    const environment_id = await installation.environment(files, {
      dockerfile: { path: "Dockerfile", args: { TAG: "1", NAME: "Ada" } },
      repos: [{ url: `file://${origin.bare}`, path: "site" }],
      setup_commands: ["echo $FLAVOR, $(id -un) > /etc/last"],
    });
    const script = [
      "RUN: cat /opt/made/greeting; readlink /opt/made/link; ls /opt/made/sub; stat -c %U /opt/made /opt/made/greeting; cd /var/copied; find . -type f | sort; stat -c '%u:%g %a' /srv/page; cat /srv/data/packed /srv/files/* /srv/heredoc /srv/work/who /etc/last",
      "RUN: id -un; echo ~; echo $FLAVOR; tail -c 2000 < /opt/made/bin/tool; echo $PATH | grep -c /opt/made/bin:/usr/bin; pwd; stat -c %U . README 2> /dev/null",
    ];
    const expected = [
      `Ada for ${process.arch === "arm64" ? "arm64" : "amd64"}\ngreeting\na b\nbuilder\nbuilder\n./keep.txt\n./shown\n2000:4321 640\n`,
      "packed\nvanilla and more\n$FLAVOR\nheredoc of Ada in /var\nbuilder\n/home/builder\n/srv/work\nyes\nvanilla and more, root\n",
      "builder\n/home/builder\nvanilla and more\necho tool\n1\n/workspace/site\nbuilder\n",
    ].join("");
    const first = await installation.runIn(environment_id, script);
    expect(first.output).toBe(expected);
    expect(first.item.receipt.environment.image).toEqual({ reference, digest });
    const { build_id } = first.item.receipt.environment;
    const log = await installation.logOf(environment_id, build_id);
    expect(log).toContain("CMD has no effect: start services in `start_commands`.");
    expect(log).toContain("COPY --from=tools --chown=builder /made /opt/made");
    expect(log).not.toContain("RUN false");

    // A continued run gets the same on another worker.
    await vi.waitUntil(async () => !(await installation.get(first.id)).is_sandbox_running, waitOptions);
    await worker.drain();
    worker = await startWorker();
    await installation.followUp(first.id, script);
    await vi.waitUntil(async () => (await installation.get(first.id)).turns === 2, waitOptions);
    const item = await installation.until(first.id, "SUCCEEDED");
    expect(item.receipt.environment.build_id).toBe(build_id);
    expect(outputOf(await installation.events(first.id)).slice(expected.length)).toBe(expected);
  });

  test("gives RUN its secrets, caches and temporary folders, and leaves none of them in the build", async () => {
    const dockerfile = `FROM ${reference}
RUN --mount=type=secret,id=BUILD_TOKEN,target=/run/token,mode=0440 --mount=type=secret,id=OTHER stat -c '%a' /run/token > /seen; tr a-z A-Z < /run/token | head -c 4 >> /seen; ls /run/secrets >> /seen 2>&1 || true
RUN --mount=type=secret,id=BUILD_TOKEN,env=TOKEN echo \${#TOKEN} >> /seen
RUN --mount=type=cache,target=/cache --mount=type=tmpfs,target=/scratch touch /cache/a /scratch/b
RUN --mount=type=cache,target=/cache --mount=type=tmpfs,target=/scratch ls /cache /scratch >> /seen
RUN echo "[$TOKEN$BUILD_TOKEN]" >> /seen; nohup sleep 600 > /dev/null 2>&1 &
RUN ps -e | grep -c sleep >> /seen || true
WORKDIR /work
RUN --mount=target=. --mount=type=bind,from=${toolReference},source=/tool,target=/bin/mounted ls >> /seen; cat /bin/mounted >> /seen
RUN ls /work /bin/mounted >> /seen 2>&1 || true
RUN <<'EOF'
#!/bin/bash -e
echo "$BASH $0" >> /seen
EOF`;
    const environment_id = await installation.environment(
      { Dockerfile: dockerfile },
      { build_secrets: ["BUILD_TOKEN"] },
    );
    const { output, item } = await installation.runIn(environment_id, [
      "RUN: cat /seen; ls /run/token /cache /scratch /tmp 2>&1 | sed s/.*ls://",
    ]);
    expect(output).toBe(
      [
        "440\nVERYls: cannot access '/run/secrets': No such file or directory\n17\n/cache:\na\n\n/scratch:\n[]\n0\nDockerfile\necho tool\n",
        "ls: cannot access '/bin/mounted': No such file or directory\n/work:\n",
        "/bin/bash /tmp/outrider-run-script\n",
        " cannot access '/run/token': No such file or directory\n/cache:\n\n/scratch:\n\n/tmp:\n",
      ].join(""),
    );
    const log = await installation.logOf(environment_id, item.receipt.environment.build_id);
    expect(log).toContain("The secret OTHER is not in `build_secrets`, so RUN does not get it.");
    const left = `FROM ${reference}\nRUN --mount=type=secret,id=BUILD_TOKEN cat /run/secrets/BUILD_TOKEN > /left`;
    expect(await failureOf(left, { build_secrets: ["BUILD_TOKEN"] })).toContain(
      "`BUILD_TOKEN` is in `/left`",
    );
  });

  test("names the file, the line and the remedy if an instruction fails", async () => {
    const onBuild = makeImage({
      ...{ layers: [layer({ name: "x", text: "x" })], config: { OnBuild: ["COPY . /app"] } },
    });
    const onBuildReference = await push(installation.registry, "acme/onbuild:1", onBuild);
    const failures = await Promise.all([
      failureOf(`FROM ${onBuildReference}`),
      failureOf(`FROM ${reference}\n\nRUN echo one \\\n  && exit 3`),
      failureOf(`FROM ${reference}\nCOPY nope /x`),
      failureOf(`FROM ${reference}\nCOPY --chown=nobody-here Dockerfile /x`),
      failureOf(`FROM ${reference}\nUSER nobody-here\nRUN true`),
      failureOf(`FROM ${reference} AS a\nFROM a\nCOPY --from=${toolReference} /nope /x`),
      failureOf(`FROM ${toolReference}\nRUN true`),
      failureOf(`FROM ${reference}\nRUN --mount=target=/etc true`),
      failureOf("FROM scratch"),
      failureOf(`FROM ${reference}`, { dockerfile: { path: "docker/Dockerfile" } }),
      failureOf(
        `FROM ${reference}\nCOPY ../x /x`,
        { dockerfile: { path: "Dockerfile", context: "sub" } },
        { "sub/x": "x" },
      ),
      failureOf(`FROM ${reference}\nRUN --mount=type=secret,id=NOPE,required=true true`),
    ]);
    expect(failures).toEqual([
      "Dockerfile line 1: FROM: The image has the instruction ONBUILD COPY . /app, which is not supported: use an image without it, and write the instruction into the Dockerfile.",
      "Dockerfile line 3: `RUN echo one && exit 3` exited with code 3. Last lines of its output:\none",
      "Dockerfile line 2: COPY: nope is not in the context, the folder . of the repository, or .dockerignore excludes it.",
      "Dockerfile line 2: COPY: There is no user nobody-here in /etc/passwd of the image.",
      'Dockerfile line 3: RUN: The image has no user "nobody-here": set `user` to one that it has.',
      "Dockerfile line 3: COPY: /nope does not exist.",
      "Dockerfile line 2: RUN: The image has no shell, which this command needs.",
      "Dockerfile line 2: RUN: /etc exists already, so nothing can be mounted there: use COPY.",
      "Dockerfile line 1: FROM scratch is not supported: commands need a system. Name an image.",
      expect.stringContaining("has no file docker/Dockerfile at"),
      "Dockerfile line 2: COPY: ../x is outside of the context, the folder sub.",
      "Dockerfile line 2: RUN: The secret NOPE is not in `build_secrets`: add it.",
    ]);
  });

  test("is built from a devcontainer.json too", async () => {
    const file = {
      build: { dockerfile: "Dockerfile", context: "..", target: "dev", args: { KIND: "team" } },
      containerEnv: { FLAVOR: "${containerEnv:FLAVOR} twice" },
      postCreateCommand: "id -un > created; echo $FLAVOR >> created",
    };
    const dockerfile = `FROM ${reference} AS dev
ARG KIND
ENV FLAVOR="$FLAVOR of $KIND"
COPY src/page.txt /etc/page
USER worker
FROM dev
RUN false`;
    const environment_id = await installation.environment(
      {
        ".devcontainer/devcontainer.json": JSON.stringify(file),
        ".devcontainer/Dockerfile": dockerfile,
        "src/page.txt": "page\n",
      },
      { dockerfile: undefined, devcontainer: ".devcontainer/devcontainer.json" },
    );
    const { output } = await installation.runIn(environment_id, [
      "RUN: cat /etc/page created; id -un; echo $FLAVOR",
    ]);
    expect(output).toBe("page\nworker\nvanilla of team twice\nworker\nvanilla of team twice\n");
  });
}
