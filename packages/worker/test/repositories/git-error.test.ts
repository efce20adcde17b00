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
