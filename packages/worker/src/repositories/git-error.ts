import type { Address } from "./address.ts";
import type { GitResult } from "./git.ts";
import {
  authenticationRequired,
  type RepositoryError,
  setupFailed,
  unreachable,
} from "./repository-error.ts";

type Explain = (repository: { url: string; host: string }, lines: string) => RepositoryError;

const storeCredential =
  "Store a credential with read access to the repository as a secret, and reference the secret in the environment.";

/** Maps git's error output to an error for users. The first matching pattern wins. */
const explanations: [RegExp, Explain][] = [
  [
    /HTTP code 4\d\d from proxy|CONNECT tunnel failed, response 4|^outrider: Outrider refused/im,
    ({ host }) =>
      setupFailed(
        `The worker's proxy does not allow connections to ${host}.`,
        "Ask the operator to allow this host for repositories.",
      ),
  ],
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|host key .*has changed/i,
    ({ host }) =>
      authenticationRequired(
        `The host key of ${host} has changed. The host may be an impostor.`,
        "Ask the operator to verify the new key and, if it is correct, to update the worker's list of known hosts.",
      ),
  ],
  [
    /Host key verification failed|No .* host key is known/i,
    ({ host }) =>
      authenticationRequired(
        `The host key of ${host} is not in the list of known hosts.`,
        "Ask the operator to add the key to the worker's list of known hosts.",
      ),
  ],
  [
    /Load key .*(?:invalid format|libcrypto|passphrase)/i,
    ({ host }) =>
      authenticationRequired(
        `The private key for ${host} is invalid or has a passphrase.`,
        "Store the complete private key, with its line breaks and without a passphrase, as the secret.",
      ),
  ],
  [
    /No user exists for uid/,
    () =>
      setupFailed(
        "The worker cannot use ssh because its system has no account for the worker's user id.",
        "Use the repository's https URL, or ask the operator to run the worker as a user that is listed in /etc/passwd.",
      ),
  ],
  [
    /Permission denied \(|Too many authentication failures/i,
    ({ host }) =>
      authenticationRequired(`${host} rejected the private key, or no key is configured.`, storeCredential),
  ],
  [
    /could not read (?:Username|Password)|terminal prompts disabled/i,
    ({ url }) =>
      authenticationRequired(
        `The repository ${url} requires credentials, and none are configured.`,
        storeCredential,
      ),
  ],
  [
    /Authentication failed|Access denied|returned error: (?:401|403)|Permission to .* denied/i,
    ({ url }) => authenticationRequired(`The repository ${url} rejected the credentials.`, storeCredential),
  ],
  [
    // A closed connection also produces "invalid index-pack output", so this phrase alone does not count.
    /pack (?:has bad object|is corrupt|signature mismatch|has \d+ unresolved)|bad pack header|repository corruption|is corrupt\b|inflate|unresolved delta|protocol error|invalid server response|is this a git repository|did not (?:receive expected object|send all necessary objects)|bad (?:object|tree|commit)\b|missing (?:blob|tree|commit)|object file .* is empty|garbage at end|SHA1 (?:mismatch|COLLISION)/i,
    ({ url }, lines) => corruptRemote(url, lines),
  ],
  [
    /not found|does not appear to be a git repository|does not exist|returned error: 404/i,
    ({ url }) =>
      setupFailed(
        `The repository ${url} does not exist, or the credentials have no access to it.`,
        "Check the URL and whether the credential has read access to the repository.",
      ),
  ],
  [
    /server certificate|certificate (?:problem|subject name)|alternative certificate subject|peer certificate|setting certificate|with the SSL CA cert/i,
    ({ host }) =>
      setupFailed(
        `The worker does not trust the TLS certificate of ${host}.`,
        "Ask the operator to add the certificate authority to the worker's system.",
      ),
  ],
  [
    /out of memory/i,
    ({ url }) =>
      setupFailed(
        `The repository ${url} needs more memory than this worker allows.`,
        "Use a smaller repository, or ask the operator for a worker with more memory.",
      ),
  ],
  [
    /returned error: (?:429|5\d\d)|HTTP code 5\d\d from proxy|CONNECT tunnel failed|^outrider: |Could not resolve|Failed to connect|Couldn't connect|Connection (?:refused|timed out|reset|closed)|No route|unreachable|unexpected disconnect|early EOF|hung up|Empty reply|Operation too slow|gnutls|SSL_(?:connect|read|write|ERROR)|SSL (?:connection|routines)|TLS connect/im,
    ({ host }) =>
      unreachable(
        `${host || "The repository"} could not be reached, or it closed the connection.`,
        "Try again. If the problem persists, check the URL and the worker's network access.",
      ),
  ],
];

/** Turns a failed git command into an error for users. */
export function explainGitError({ url, host }: Address, { stderr, endReason }: GitResult): RepositoryError {
  if (endReason === "timeout") {
    return unreachable(
      `Fetching the repository ${url} timed out.`,
      "Try again, or use a smaller repository.",
    );
  }
  if (endReason) {
    return setupFailed(
      `The repository ${url} exceeds this worker's size limit.`,
      "Use a smaller repository, or ask the operator to raise the limit.",
    );
  }
  // Git quotes the URL, whose path can contain any of the phrases.
  const text = stderr.replaceAll(url, "URL");
  const known = explanations.find(([pattern]) => pattern.test(text));
  const lines = lastErrorLines(stderr);
  if (known) return known[1]({ url, host }, lines);
  return setupFailed(
    `Failed to fetch the repository ${url}: ${lines || "git gave no reason"}`,
    "Check the URL, then try again.",
  );
}

/** Creates the error for a repository whose server sends data that git cannot read. */
export function corruptRemote(url: string, lines: string): RepositoryError {
  return setupFailed(
    `The repository ${url} is corrupt, or its server sent invalid data. git reported: ${lines || "no reason"}`,
    "Check the repository with `git fsck --full` on its server, repair it, and push it again.",
  );
}

const MAX_ERROR_LINES = 3;
const MAX_LINE_CHARACTERS = 300;

/** Matches lines such as `Receiving objects:  42% (3/7)` and `remote: Total 3 (delta 0), reused 0`. */
const progressLine = /^(?:remote: )?(?:Cloning into |Total \d|[A-Z][a-z]+ [a-z ]+: +\d)/;

/** Returns the last lines of git's stderr that are about an error, separated by "; ". Progress is left out. */
export function lastErrorLines(stderr: string): string {
  const lines = stderr.split(/[\r\n]+/).flatMap((line) => {
    const text = line.trim();
    return text === "" || progressLine.test(text) ? [] : [text.slice(0, MAX_LINE_CHARACTERS)];
  });
  const errors = lines.filter((line) => /^(?:remote: )?(?:fatal|error|warning):/.test(line));
  return (errors.length > 0 ? errors : lines).slice(-MAX_ERROR_LINES).join("; ");
}
