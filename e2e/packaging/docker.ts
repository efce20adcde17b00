import { execFile, execFileSync, spawn } from "node:child_process";
import { globSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { aptArchive } from "../stacks/debian-image.ts";

const execute = promisify(execFile);

export interface Docker {
  /** Runs the docker command and returns its output. */
  docker(...args: string[]): Promise<{ stdout: string; stderr: string }>;
  stop(): Promise<void>;
}

/**
 * Starts a Docker daemon of its own in a network namespace that has only loopback. Its programs come from Debian's packages,
 * which are unpacked but not installed. Needs root and apt.
 */
export async function startDocker(folder: string): Promise<Docker> {
  const prefix = join(folder, "docker");
  const packages = join(folder, "packages");
  for (const path of [prefix, packages]) mkdirSync(path, { recursive: true });
  const names = ["docker.io", "containerd", "runc", "tini", "libip6tc2", "libnftnl11", "libnfnetlink0"];
  await execute("apt-get", ["-qq", "download", ...names], { cwd: packages });
  for (const file of globSync(join(packages, "*.deb"))) await execute("dpkg", ["-x", file, prefix]);

  const socket = join(folder, "docker.sock");
  const group = `outrider-docker-${process.pid}`;
  const environment = {
    ...process.env,
    PATH: [join(prefix, "usr/bin"), join(prefix, "usr/sbin"), process.env.PATH].join(":"),
    // The builder of this version needs no other image.
    DOCKER_BUILDKIT: "0",
    DOCKER_HOST: `unix://${socket}`,
  };
  const options = [
    ...["-H", `unix://${socket}`, "--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
    ...["--pidfile", join(folder, "docker.pid"), "--cgroup-parent", `/${group}`],
    ...["--exec-opt", "native.cgroupdriver=cgroupfs"],
    ...["--bridge", "none", "--iptables=false", "--ip6tables=false"],
  ];
  const script = 'ip link set lo up && ulimit -n "$(ulimit -Hn)" && exec dockerd "$@"';
  const daemon = spawn("unshare", ["--net", "bash", "-c", script, "bash", ...options], {
    env: environment,
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => daemon.once("exit", resolve));
  const docker = (...args: string[]) =>
    execute("docker", args, { env: environment, maxBuffer: 64 * 1024 * 1024 });
  await vi.waitFor(() => docker("version"), waitOptions);
  return {
    docker,
    async stop() {
      daemon.kill("SIGTERM");
      await ended;
      // The daemon leaves the namespace of --network host mounted.
      for (const mount of globSync(join(folder, "exec/netns/*"))) execFileSync("umount", [mount]);
      for (const path of globSync(`/sys/fs/cgroup/{,*/}${group}`))
        execFileSync("find", [path, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"], {
          stdio: "ignore",
        });
    },
  };
}

/** Makes an image of Debian with the packages that Outrider's images install, so that building them needs no network. */
export async function importBase({ docker }: Docker, folder: string, name: string): Promise<void> {
  const root = join(folder, "base");
  const packages = "bubblewrap,ca-certificates,git,openssh-client,openssl,procps";
  await execute("debootstrap", [
    "--variant=minbase",
    `--include=${packages}`,
    "bookworm",
    root,
    aptArchive(),
  ]);
  const archive = join(folder, "base.tar");
  await execute("tar", ["-C", root, "--exclude=./dev/*", "--exclude=./var/cache/apt/*", "-cf", archive, "."]);
  rmSync(root, { recursive: true });
  await docker("import", archive, name);
}
