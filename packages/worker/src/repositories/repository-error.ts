/** An error about a repository that is shown to the environment's owner. Its message and remedy contain no secrets. */
export class RepositoryError extends Error {
  override name = "RepositoryError";
  readonly code: "external_authentication_required" | "environment_setup_failed" | "repository_unreachable";
  readonly remedy: string;

  constructor(code: RepositoryError["code"], message: string, remedy: string) {
    super(message);
    this.code = code;
    this.remedy = remedy;
  }
}

export function setupFailed(message: string, remedy: string): RepositoryError {
  return new RepositoryError("environment_setup_failed", message, remedy);
}

/** Creates an error for a git host that does not respond. Another attempt may succeed. */
export function unreachable(message: string, remedy: string): RepositoryError {
  return new RepositoryError("repository_unreachable", message, remedy);
}

export function authenticationRequired(message: string, remedy: string): RepositoryError {
  return new RepositoryError("external_authentication_required", message, remedy);
}
