import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { openUnlinkedFile } from "../repositories/access.ts";
import { firstBytes } from "../sandboxes/first-bytes.ts";
import { PublishingError } from "./publishing-error.ts";

const KEYGEN_MS = 15_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

/**
 * Signs commits with an SSH key, as git does with `gpg.format=ssh`. ssh-keygen reads the key through an open file that
 * has no name, so that it is neither in the arguments of a process nor on the disk.
 *
 * Only keys whose signatures are always the same are accepted: a repeated push then creates the same commits.
 */
export class CommitSigner implements Disposable {
  readonly #key: number;
  readonly #signal: AbortSignal;

  private constructor(key: string, signal: AbortSignal) {
    this.#key = openUnlinkedFile(`${key.trim().replaceAll("\r", "")}\n`);
    this.#signal = signal;
  }

  static async open(key: string, signal: AbortSignal): Promise<CommitSigner> {
    const signer = new CommitSigner(key, signal);
    try {
      const { ok, output } = await signer.#run(["-y", "-P", ""], "");
      if (!ok) throw invalidKey("is not a private key in OpenSSH's format, or has a passphrase");
      if (!/^(?:ssh-ed25519|ssh-rsa) /.test(output)) throw invalidKey("is neither an Ed25519 nor an RSA key");
      return signer;
    } catch (error) {
      signer[Symbol.dispose]();
      throw error;
    }
  }

  /** Returns the signature of a commit, in the form of the header `gpgsig`. */
  async sign(commit: Buffer): Promise<string> {
    const { ok, output } = await this.#run(["-Y", "sign", "-n", "git"], commit);
    if (ok && output.startsWith("-----BEGIN SSH SIGNATURE-----\n"))
      return output.trimEnd().replaceAll("\n", "\n ");
    throw invalidKey("cannot sign commits");
  }

  [Symbol.dispose](): void {
    closeSync(this.#key);
  }

  async #run(args: string[], stdin: string | Buffer): Promise<{ ok: boolean; output: string }> {
    const child = spawn("ssh-keygen", [...args, "-f", "/proc/self/fd/3"], {
      stdio: ["pipe", "pipe", "ignore", this.#key],
      cwd: "/",
      env: {
        PATH: "/usr/local/bin:/usr/bin:/bin",
        HOME: "/nonexistent",
        LC_ALL: "C",
        SSH_ASKPASS_REQUIRE: "never",
      },
      signal: AbortSignal.any([this.#signal, AbortSignal.timeout(KEYGEN_MS)]),
      killSignal: "SIGKILL",
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(stdin);
    const exited = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    const [code, output] = await Promise.all([
      exited,
      firstBytes(child.stdout as NonNullable<typeof child.stdout>, MAX_OUTPUT_BYTES),
    ]);
    return { ok: code === 0, output: output.toString() };
  }
}

function invalidKey(problem: string): PublishingError {
  return new PublishingError(
    "signing_key_invalid",
    `The commits cannot be signed: the key ${problem}. Store an Ed25519 or RSA private key without a passphrase as the secret that \`signing_secret\` names.`,
  );
}
