import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A company's own certificate authority and a server certificate that it issued, made with openssl. */
export function makePrivateCa(folder: string, names: string[]) {
  const file = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "ignore" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  openssl(
    ...["req", "-x509", ...newKey, "-keyout", file("ca.key"), "-out", file("ca.pem")],
    ...["-subj", "/CN=Company CA", "-addext", "keyUsage=critical,keyCertSign,cRLSign"],
  );
  openssl(
    ...[
      "req",
      "-new",
      ...newKey.slice(0, 4),
      "-nodes",
      "-keyout",
      file("server.key"),
      "-out",
      file("server.csr"),
    ],
    ...["-subj", "/CN=company"],
  );
  const alternatives = [...names.map((name) => `DNS:${name}`), "IP:127.0.0.1"].join();
  writeFileSync(
    file("extensions"),
    `basicConstraints=CA:FALSE\nsubjectAltName=${alternatives}\nextendedKeyUsage=serverAuth\n`,
  );
  openssl(
    ...["x509", "-req", "-days", "2", "-in", file("server.csr"), "-out", file("server.pem")],
    ...["-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-CAcreateserial", "-extfile", file("extensions")],
  );
  return {
    caFile: file("ca.pem"),
    tls: { key: readFileSync(file("server.key")), cert: readFileSync(file("server.pem")) },
  };
}
