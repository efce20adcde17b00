/** Provides access to a run's files outside its workspace. */
export interface RunFiles {
  /** Stores an artifact and returns its id. */
  storeArtifact(file: { name: string; mime_type: string; data: Uint8Array }): Promise<string>;
  readArtifact(artifact_id: string): Promise<Uint8Array>;
  readAttachment(attachment_id: string): Promise<Uint8Array>;
}
