import { expect, test } from "vitest";
import type { Address } from "../../src/repositories/address.ts";
import { explainGitError } from "../../src/repositories/git-error.ts";

const address: Address = {
  kind: "https",
  url: "https://git.example.com/openssl/certificate-problem.git",
  host: "git.example.com",
};

/** Messages of git with libcurl, after "unable to access". */
test.each([
  ["repository_unreachable", "gnutls_handshake() failed: The TLS connection was non-properly terminated."],
  ["repository_unreachable", "GnuTLS recv error (-54): Error in the pull function."],
  ["repository_unreachable", "GnuTLS, handshake failed: Error in the pull function."],
  [
    "repository_unreachable",
    "OpenSSL SSL_connect: Connection reset by peer in connection to git.example.com:443",
  ],
  ["repository_unreachable", "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to git.example.com:443"],
  ["repository_unreachable", "OpenSSL SSL_read: SSL_ERROR_SYSCALL, errno 104"],
  ["repository_unreachable", "TLS connect error: error:0A000126:SSL routines::unexpected eof while reading"],
  ["repository_unreachable", "SSL connection timeout"],
  ["repository_unreachable", "The requested URL returned error: 502"],
  ["repository_unreachable", "The requested URL returned error: 503"],
  ["repository_unreachable", "The requested URL returned error: 429"],
  ["repository_unreachable", "Could not resolve host: git.example.com"],
  [
    "repository_unreachable",
    "Failed to connect to git.example.com port 443 after 1 ms: Couldn't connect to server",
  ],
  ["repository_unreachable", "Failed to connect to git.example.com port 443: Connection refused"],
  ["repository_unreachable", "Recv failure: Connection reset by peer"],
  ["repository_unreachable", "Empty reply from server"],
  ["environment_setup_failed", "SSL certificate problem: certificate has expired"],
  ["environment_setup_failed", "SSL certificate problem: self-signed certificate"],
  ["environment_setup_failed", "SSL certificate problem: self signed certificate in certificate chain"],
  ["environment_setup_failed", "SSL certificate problem: unable to get local issuer certificate"],
  [
    "environment_setup_failed",
    "SSL: no alternative certificate subject name matches target host name 'git.example.com'",
  ],
  [
    "environment_setup_failed",
    "SSL: certificate subject name (other.example.com) does not match target host name 'git.example.com'",
  ],
  ["environment_setup_failed", "server certificate verification failed. CAfile: none CRLfile: none"],
  ["environment_setup_failed", "SSL peer certificate or SSH remote key was not OK"],
])("explains as %s: %s", (code, message) => {
  const stderr = `Cloning into bare repository '/tmp/x'...\nfatal: unable to access '${address.url}/': ${message}\n`;
  const error = explainGitError(address, { ok: false, stdout: "", stderr });
  const expected =
    code === "repository_unreachable"
      ? "git.example.com could not be reached, or it closed the connection."
      : "The worker does not trust the TLS certificate of git.example.com.";
  expect([error.code, error.message]).toEqual([code, expected]);
});

test("ignores the words in the repository's URL", () => {
  const stderr = `fatal: unable to access '${address.url}/': Something else happened`;
  const error = explainGitError(address, { ok: false, stdout: "", stderr });
  expect(error.message).toContain("Something else happened");
});

const progress = [
  "remote: Enumerating objects: 5, done.",
  "remote: Counting objects: 100% (5/5), done.",
  "remote: Total 5 (delta 0), reused 0 (delta 0), pack-reused 0",
  "Receiving objects:  42% (3/7), 1.00 MiB | 2.00 MiB/s",
  "Resolving deltas: 0",
];

/** The errors of git for remotes that are damaged or answer with something else. */
test.each([
  [
    "fatal: pack has bad object at offset 12: inflate returned -3",
    "fatal: fetch-pack: invalid index-pack output",
  ],
  ["error: inflate: data stream error (incorrect header check)", "fatal: pack has 1 unresolved delta"],
  ["fatal: pack is corrupted (SHA1 mismatch)"],
  [
    "remote: fatal: loose object 1234 is corrupt",
    "fatal: early EOF",
    "fatal: fetch-pack: invalid index-pack output",
  ],
  ["remote: aborting due to possible repository corruption on the remote side.", "fatal: early EOF"],
  ["fatal: protocol error: bad line length character: <htm"],
  ["fatal: remote did not send all necessary objects"],
  ["fatal: bad object refs/heads/main"],
])("names a corrupt remote, with git's last lines and without progress: %s", (...lines) => {
  const stderr = [...progress, ...lines, progress[3]].map((line) => `${line}\n`).join("");
  const error = explainGitError(address, { ok: false, stdout: "", stderr });
  expect(error.code).toBe("environment_setup_failed");
  expect(error.message).toMatch(
    /^The repository https:\/\/git\.example\.com\/\S+ is corrupt, or its server sent invalid data\. git reported: /,
  );
  expect(error.message).toContain(lines.at(-1)?.replace(/^remote: aborting.*/, ""));
  expect(error.message).not.toMatch(/\d%|Enumerating|Total|Resolving/);
});

test("says that a connection was closed if nothing else is wrong", () => {
  const stderr = "fatal: early EOF\nfatal: fetch-pack: invalid index-pack output\n";
  expect(explainGitError(address, { ok: false, stdout: "", stderr }).code).toBe("repository_unreachable");
});

test("quotes no progress if git gives no reason", () => {
  const error = explainGitError(address, { ok: false, stdout: "", stderr: `${progress.join("\n")}\n` });
  expect(error.message).toMatch(/git gave no reason$/);
});
