import type { Address } from "./address.ts";
import { authenticationRequired, type RepositoryError, setupFailed } from "./error.ts";
import type { GitResult } from "./git.ts";

type Explain = (place: { url: string; host: string }) => RepositoryError;

const storeAnother =
  "Store a credential that may read the repository as a secret and name it in the environment.";

/** From git's words to ours; the first that fits counts. */
const explanations: [RegExp, Explain][] = [
  [
    /HTTP code 4\d\d from proxy|CONNECT tunnel failed, response 4|^outrider: Outrider refused/im,
    ({ host }) =>
      setupFailed(
        `The worker's proxy does not let it reach ${host}.`,
        "Ask the operator to allow this host for repositories.",
      ),
  ],
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|host key .*has changed/i,
    ({ host }) =>
      authenticationRequired(
        `${host} shows another host key than before, so it may not be the host it claims to be.`,
        "Ask the operator to check the host's key, and to correct the worker's list of known hosts if the change is right.",
      ),
  ],
  [
    /Host key verification failed|No .* host key is known/i,
    ({ host }) =>
      authenticationRequired(
        `The host key of ${host} is not in the list of known hosts.`,
        "Ask the operator to add the host's key to the worker's list of known hosts.",
      ),
  ],
  [
    /Load key .*(?:invalid format|libcrypto|passphrase)/i,
    ({ host }) =>
      authenticationRequired(
        `The private key for ${host} cannot be read, or has a passphrase.`,
        "Store a private key without a passphrase, whole and with its line breaks, as the secret.",
      ),
  ],
  [
    /No user exists for uid/,
    () =>
      setupFailed(
        "This worker cannot use ssh, because its user is not in the list of users of its system.",
        "Ask the operator to run the worker as a user that /etc/passwd names, or use the repository's https address.",
      ),
  ],
  [
    /Permission denied \(|Too many authentication failures/i,
    ({ host }) =>
      authenticationRequired(`${host} does not accept the private key, or there is none.`, storeAnother),
  ],
  [
    /could not read (?:Username|Password)|terminal prompts disabled/i,
    ({ url }) =>
      authenticationRequired(
        `The repository ${url} wants credentials, and there are none for it.`,
        storeAnother,
      ),
  ],
  [
    /Authentication failed|Access denied|returned error: (?:401|403)|Permission to .* denied/i,
    ({ url }) =>
      authenticationRequired(`The repository ${url} does not accept the credentials.`, storeAnother),
  ],
  [
    /not found|does not appear to be a git repository|does not exist|returned error: 404/i,
    ({ url }) =>
      setupFailed(
        `There is no repository at ${url}, or the credentials may not see it.`,
        "Check the address, and whether the credential may read the repository.",
      ),
  ],
  [
    /certificate|SSL|TLS/,
    ({ host }) =>
      setupFailed(
        `No secure connection to ${host} can be made: its certificate is not trusted here.`,
        "Ask the operator to add the certificate's authority to the worker's system.",
      ),
  ],
  [
    /HTTP code 5\d\d from proxy|CONNECT tunnel failed|^outrider: |Could not resolve|Failed to connect|Couldn't connect|Connection (?:refused|timed out|reset|closed)|No route|unreachable|unexpected disconnect|early EOF|hung up|Empty reply|Operation too slow/im,
    ({ host }) =>
      setupFailed(
        `${host || "The repository"} cannot be reached, or broke the connection off.`,
        "Try again; if it stays so, check the address and whether the worker's network leads there.",
      ),
  ],
];

export function explainGit({ url, host }: Address, { complaint, ended }: GitResult): RepositoryError {
  if (ended === "timeout") {
    return setupFailed(
      `The repository ${url} could not be fetched in time.`,
      "Try again, or use a smaller repository.",
    );
  }
  if (ended) {
    return setupFailed(
      `The repository ${url} is larger than this worker may fetch.`,
      "Use a smaller repository, or ask the operator to raise the limit.",
    );
  }
  const known = explanations.find(([pattern]) => pattern.test(complaint));
  if (known) return known[1]({ url, host });
  const lines = complaint.trim().split("\n");
  const words = lines.findLast((line) => /^(?:fatal|error):/.test(line)) ?? lines.at(-1) ?? "";
  return setupFailed(
    `The repository ${url} could not be fetched: ${words.slice(0, 300) || "git said nothing"}`,
    "Check the address, then try again.",
  );
}
