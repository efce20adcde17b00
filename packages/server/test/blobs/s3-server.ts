/** Real S3 servers on a loopback port. `scripts/s3` gets them. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { vi } from "vitest";
import { freePort } from "../../../../scripts/tests/free-port.ts";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../../../..");

export const s3Credentials = { accessKeyId: "testkey", secretAccessKey: "testsecret" };
/** The variables with which a server finds the credentials. */
export const s3Environment = { AWS_ACCESS_KEY_ID: "testkey", AWS_SECRET_ACCESS_KEY: "testsecret" };

/** The only key of MinIO's key management. Other servers here have none. */
export const s3KmsKey = "outrider-test-key";

export interface S3Server {
  endpoint: string;
  /** Contains the server's data. */
  folder: string;
  /** A client with the right credentials. */
  client: S3Client;
  newBucket(): Promise<string>;
  /** Ends the server. `resume` starts it again, on the same port and with the same data. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  close(): Promise<void>;
}

export type S3ServerName = "s3proxy" | "versitygw" | "minio";

export async function startS3Server(name: S3ServerName = "s3proxy"): Promise<S3Server> {
  const { stdout } = await run(join(root, "scripts/s3"), [name], { timeout: 20 * 60_000 });
  const program = stdout.trim();
  const folder = await mkdtemp(join(tmpdir(), "outrider-s3-"));
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  for (const part of ["data", "versions"]) await mkdir(join(folder, part));
  const [command, args, env] = await commands[name]({ program, folder, port });
  const client = new S3Client({
    endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: s3Credentials,
  });
  const start = async () => {
    const child = spawn(command, args, { stdio: "ignore", env: { PATH: process.env.PATH, ...env } });
    const exited = new Promise<never>((_, reject) =>
      child.once("exit", (code) => reject(new Error(`${name} exited with ${code}`))),
    );
    exited.catch(() => {});
    await Promise.race([exited, vi.waitUntil(() => fetch(endpoint).catch(() => undefined), waitOptions)]);
    return child;
  };
  let child = await start();
  const pause = async () => {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  let buckets = 0;
  return {
    endpoint,
    folder,
    client,
    async newBucket() {
      const Bucket = `bucket-${++buckets}`;
      await client.send(new CreateBucketCommand({ Bucket }));
      return Bucket;
    },
    pause,
    async resume() {
      child = await start();
    },
    async close() {
      client.destroy();
      if (child.exitCode === null && child.signalCode === null) await pause();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Place {
  program: string;
  folder: string;
  port: number;
}
type Command = [command: string, args: string[], environment: Record<string, string>];

const commands: Record<S3ServerName, (place: Place) => Promise<Command>> = {
  async s3proxy({ program, folder, port }) {
    const config = join(folder, "s3proxy.conf");
    const settings = {
      "s3proxy.authorization": "aws-v2-or-v4",
      "s3proxy.identity": s3Credentials.accessKeyId,
      "s3proxy.credential": s3Credentials.secretAccessKey,
      "s3proxy.endpoint": `http://127.0.0.1:${port}`,
      "jclouds.provider": "filesystem-nio2",
      "jclouds.identity": "x",
      "jclouds.credential": "x",
      "jclouds.filesystem.basedir": join(folder, "data"),
    };
    const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`);
    await writeFile(config, lines.join(""));
    // The first compiler starts faster than the second one, which a short test does not need.
    const java = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"];
    return ["java", [...java, "-jar", program, "--properties", config], {}];
  },
  async versitygw({ program, folder, port }) {
    const keys = ["--access", s3Credentials.accessKeyId, "--secret", s3Credentials.secretAccessKey];
    const place = ["posix", "--versioning-dir", join(folder, "versions"), join(folder, "data")];
    return [program, [...keys, "--port", `127.0.0.1:${port}`, "--quiet", ...place], {}];
  },
  async minio({ program, folder, port }) {
    const env = {
      MINIO_ROOT_USER: s3Credentials.accessKeyId,
      MINIO_ROOT_PASSWORD: s3Credentials.secretAccessKey,
      MINIO_UPDATE: "off",
      // Objects are encrypted only if a request asks for it.
      MINIO_KMS_SECRET_KEY: `${s3KmsKey}:${Buffer.alloc(32, "secret").toString("base64")}`,
    };
    const address = ["--address", `127.0.0.1:${port}`];
    return [program, ["server", ...address, "--quiet", join(folder, "data")], env];
  },
};
