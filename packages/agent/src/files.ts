/** Files of a run that are no part of its workspace. */
export interface RunFiles {
  /** Stores an artifact; answers its id. */
  keep(file: { name: string; mime_type: string; data: Uint8Array }): Promise<string>;
  artifact(artifact_id: string): Promise<Uint8Array>;
  attachment(attachment_id: string): Promise<Uint8Array>;
}
