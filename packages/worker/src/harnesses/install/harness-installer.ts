import type { InstalledHarness, InstallOptions } from "./installed-harness.ts";

export interface HarnessInstallerOptions {
  /** The folder in which this worker stores agents. Several workers can share it. */
  cache: string;
  /** A folder that `outrider harness install --folder` has filled. With it, nothing is downloaded. */
  folder?: string | undefined;
  /** The variables with which npm finds its configuration. */
  environment: Record<string, string>;
}

/** Installs agents on the worker, so that sandboxes can use them. */
export class HarnessInstaller {
  readonly #options: HarnessInstallerOptions;

  constructor(options: HarnessInstallerOptions) {
    this.#options = options;
  }

  /** Rejects with a Failure that says what the operator can do. */
  async install(name: string, _options: InstallOptions): Promise<InstalledHarness> {
    throw new Error(`Cannot install ${name} in ${this.#options.cache}.`);
  }
}
