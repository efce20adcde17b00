/** Thrown if a backup cannot be created or restored. The message says why and how to fix it. */
export class BackupError extends Error {}
