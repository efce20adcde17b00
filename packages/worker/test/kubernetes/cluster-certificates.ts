/** The certificates, keys and tokens of a test cluster. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

export interface ClusterCertificates {
  /** It contains NAME.crt and NAME.key for `ca`, `api-server` and `api-server-client`, service-accounts.key and .pub, and tokens.csv. */
  folder: string;
  ca: string;
  tokens: { admin: string; node: string };
}

export async function makeCertificates(
  folder: string,
  { addresses, nodeName }: { addresses: string[]; nodeName: string },
): Promise<ClusterCertificates> {
  mkdirSync(folder);
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => run("openssl", args);
  const sign = async (name: string, subject: string, extension: string) => {
    writeFileSync(path(`${name}.ext`), extension);
    const files = ["-keyout", path(`${name}.key`), "-out", path(`${name}.csr`)];
    await openssl("req", ...newKey, ...files, "-subj", subject);
    const ca = ["-CA", path("ca.crt"), "-CAkey", path("ca.key")];
    const output = ["-extfile", path(`${name}.ext`), "-out", path(`${name}.crt`)];
    await openssl("x509", "-req", "-in", path(`${name}.csr`), ...ca, "-days", "30", ...output);
  };
  const ca = ["-keyout", path("ca.key"), "-out", path("ca.crt"), "-days", "30", "-subj", "/CN=test-cluster"];
  await openssl("req", "-x509", ...newKey, ...ca);
  const names = [
    "DNS:kubernetes.default.svc",
    "DNS:localhost",
    ...addresses.map((address) => `IP:${address}`),
  ];
  await sign("api-server", "/CN=kube-apiserver", `subjectAltName=${names.join(",")}`);
  await sign(
    "api-server-client",
    "/O=system:masters/CN=kube-apiserver-kubelet-client",
    "extendedKeyUsage=clientAuth",
  );
  await openssl("genrsa", "-out", path("service-accounts.key"), "2048");
  const publicKey = ["-pubout", "-out", path("service-accounts.pub")];
  await openssl("rsa", "-in", path("service-accounts.key"), ...publicKey);
  const tokens = { admin: randomBytes(16).toString("hex"), node: randomBytes(16).toString("hex") };
  const users = [
    `${tokens.admin},admin,admin,"system:masters"`,
    `${tokens.node},system:node:${nodeName},${nodeName},"system:nodes"`,
  ];
  writeFileSync(path("tokens.csv"), `${users.join("\n")}\n`);
  return { folder, ca: readFileSync(path("ca.crt"), "utf8"), tokens };
}

export function kubeconfigOf({ ca }: ClusterCertificates, server: string, token: string): string {
  const cluster = { server, "certificate-authority-data": Buffer.from(ca).toString("base64") };
  // JSON is also YAML.
  return JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "test" },
    clusters: [{ name: "test", cluster }],
    users: [{ name: "test", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
  });
}
