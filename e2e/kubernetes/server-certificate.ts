import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** Writes tls.crt and tls.key for the names to the folder, and ca.crt of the authority that signed them. */
export async function makeServerCertificate(folder: string, names: string[]): Promise<void> {
  const path = (name: string) => join(folder, name);
  const ca = ["-keyout", path("ca.key"), "-out", path("ca.crt"), "-days", "30", "-subj", "/CN=internal-ca"];
  await run("openssl", ["req", "-x509", ...newKey, ...ca]);
  const request = ["-keyout", path("tls.key"), "-out", path("tls.csr"), "-subj", `/CN=${names[0]}`];
  await run("openssl", ["req", ...newKey, ...request]);
  writeFileSync(path("tls.ext"), `subjectAltName=${names.map((name) => `DNS:${name}`).join(",")}`);
  const signer = ["-CA", path("ca.crt"), "-CAkey", path("ca.key"), "-CAcreateserial"];
  const output = ["-days", "30", "-extfile", path("tls.ext"), "-out", path("tls.crt")];
  await run("openssl", ["x509", "-req", "-in", path("tls.csr"), ...signer, ...output]);
}
