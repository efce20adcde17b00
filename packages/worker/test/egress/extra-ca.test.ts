import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { combineCertificates, readExtraCertificates } from "../../src/egress/extra-ca.ts";
import { makePrivateCa } from "./private-ca.ts";

const folder = mkdtempSync(join(tmpdir(), "outrider-ca-"));
let caFile: string;

beforeAll(() => {
  ({ caFile } = makePrivateCa(folder, ["a.test"]));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("OUTRIDER_EXTRA_CA", () => {
  test("may contain several certificates and comments", () => {
    const both = join(folder, "both.pem");
    const pem = readFileSync(caFile, "utf8");
    writeFileSync(both, `# Company CA\n${pem}\nan old one:\n${pem}`);
    expect(readExtraCertificates(both)).toHaveLength(2);
  });

  test("names the file and the problem if it is unusable", () => {
    const write = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const key = join(folder, "ca.key");
    const missing = join(folder, "missing.pem");
    const damaged = write("damaged.pem", readFileSync(caFile, "utf8").replace(/\nMII.{20}/, "\nMIIx"));
    expect(() => readExtraCertificates(missing)).toThrow(
      `OUTRIDER_EXTRA_CA: ${missing} cannot be read (ENOENT). It must be a PEM file with CA certificates.`,
    );
    expect(() => readExtraCertificates(key)).toThrow(`${key} contains no PEM certificate`);
    expect(() => readExtraCertificates(damaged)).toThrow(
      `${damaged} contains a damaged certificate (number 1)`,
    );
  });

  test("is added to the machine's authorities for sandboxes", () => {
    const extra = readExtraCertificates(caFile);
    const stored = combineCertificates(join(folder, "stored"), extra);
    const bundle = readFileSync(stored.bundleFile, "latin1");
    const certificates = bundle.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
    expect(certificates.length).toBeGreaterThan(10);
    expect(new X509Certificate(certificates.at(-1) as string).subject).toBe("CN=Company CA");
    const paths = Object.keys(stored.files);
    for (const path of Object.values(stored.environment)) expect(paths).toContain(path);
  });
});
