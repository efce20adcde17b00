/** A host file or folder that is visible in a sandbox. If the worker is root, every user must be able to access it. */
export interface Mount {
  source: string;
  /** An absolute path inside the sandbox that nothing else uses. */
  target: string;
  writable?: boolean;
}
