/** How to reach the Docker or Podman engine that runs sandboxes, and what to tell it. */
export interface DockerSettings {
  engine: {
    /** `unix:///path` or `tcp://host:port`. Default: the first of the usual sockets that responds. */
    host?: string | undefined;
    /** The folder with `ca.pem`, `cert.pem` and `key.pem`, for TCP with TLS. */
    certPath?: string | undefined;
    /** Use TLS even without `certPath`, with the files in `~/.docker`. */
    tlsVerify?: boolean | undefined;
    /** The user's folder for sockets. */
    runtimeFolder?: string | undefined;
  };
  /** A runtime that the engine knows, such as `runsc`. Default: that of the engine. */
  runtime?: string | undefined;
  /** The image for sandboxes without an image, and for the worker's scripts. Default: made from this machine's programs. */
  systemImage?: string | undefined;
}
