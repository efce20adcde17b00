import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type ConnectionOptions, connect } from "node:tls";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";

/** A folder with a certificate and its key, as whoever renews certificates would leave them. */
export function certificateFolder() {
  const folder = mkdtempSync(join(tmpdir(), "outrider-certificate-"));
  const files = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  return {
    ...files,
    pem: () => readFileSync(files.cert, "utf8"),
    /** Writes both anew; each is whole at every moment. */
    renew(name = "localhost") {
      const next = { cert: `${files.cert}.new`, key: `${files.key}.new` };
      const args = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "90"];
      const names = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name},IP:127.0.0.1`];
      execFileSync("openssl", ["req", ...args, ...names, "-keyout", next.key, "-out", next.cert], {
        stdio: "ignore",
      });
      renameSync(next.key, files.key);
      renameSync(next.cert, files.cert);
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

export interface Got {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** One request on whatever agent and trust the test wants. */
export async function get(url: string, options: RequestOptions = {}): Promise<Got> {
  const start = url.startsWith("https:") ? httpsRequest : httpRequest;
  const outgoing = start(url, { agent: false, timeout: waitOptions.timeout, ...options });
  outgoing.end();
  const [incoming] = await once(outgoing, "response");
  return { status: incoming.statusCode, headers: incoming.headers, text: await text(incoming) };
}

/** The fingerprint that a new handshake shows. */
export async function shown(origin: string, options: ConnectionOptions = {}) {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerCertificate();
  const protocol = socket.getProtocol();
  socket.destroy();
  return { fingerprint: fingerprint256, protocol };
}
