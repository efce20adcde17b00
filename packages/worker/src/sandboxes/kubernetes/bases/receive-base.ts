import { createWriteStream } from "node:fs";
import { PassThrough, Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { Spawned } from "../../sandbox.ts";

/** Writes an archive to a file, in the form of a program that unpacks it. The pod gets it before its first command. */
export function receiveBase(path: string, onReceived: () => void): Spawned {
  const stdin = createWriteStream(path, { mode: 0o600 });
  const stderr = new PassThrough();
  const ended = finished(stdin).then(
    () => {
      onReceived();
      stderr.end();
      return { exitCode: 0 };
    },
    (error: Error) => {
      stderr.end(error.message);
      return { exitCode: 1 };
    },
  );
  const kill = async () => {
    stdin.destroy();
    await ended;
  };
  return { stdin, stdout: Readable.from([]), stderr, ended, kill, resize: () => {} };
}
