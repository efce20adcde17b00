/** Why a repository cannot be had, as it is shown to whoever owns the environment. No text in it holds a secret. */
export class RepositoryError extends Error {
  override name = "RepositoryError";
  readonly code: "external_authentication_required" | "environment_setup_failed";
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

export function authenticationRequired(message: string, remedy: string): RepositoryError {
  return new RepositoryError("external_authentication_required", message, remedy);
}
