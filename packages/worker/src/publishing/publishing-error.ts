/** Why commits cannot be published. */
export type PublishingErrorCode =
  | "invalid_commits"
  | "too_large"
  | "secret_found"
  | "unrelated_history"
  | "lfs_files"
  | "unfinished_merge"
  | "no_repository"
  | "staging_failed"
  | "branch_moved"
  | "base_conflict"
  | "protected_branch"
  | "rejected"
  | "permission_denied"
  | "authentication_required"
  | "unreachable"
  | "signing_key_invalid";

/** An error for users and agents: its message is a sentence that says what to do, and contains no secrets. */
export class PublishingError extends Error {
  override name = "PublishingError";
  readonly code: PublishingErrorCode;
  /** Whether the same request may succeed later. */
  readonly isRetryable: boolean;

  constructor(
    code: PublishingErrorCode,
    message: string,
    { isRetryable = false, cause }: { isRetryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.isRetryable = isRetryable;
  }
}
