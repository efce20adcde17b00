import { tarEnd, tarHeader, tarPadding } from "../tar-header.ts";
import type { SupportingFile } from "./supporting-files.ts";

/** Creates a tar archive. A name longer than 100 bytes is stored in an extra entry before the file, as GNU tar does. */
export function createTar(files: readonly SupportingFile[]): Buffer {
  const parts = files.flatMap(({ path, data, isExecutable }) => {
    const name = Buffer.from(path);
    const header = tarHeader(name, { size: data.length, mode: isExecutable ? 0o755 : 0o644 });
    const entry = [header, data, tarPadding(data.length)];
    if (name.length <= 100) return entry;
    const longName = Buffer.concat([name, Buffer.alloc(1)]);
    return [
      tarHeader(Buffer.from("name"), { size: longName.length, mode: 0, type: "L" }),
      ...[longName, tarPadding(longName.length)],
      ...entry,
    ];
  });
  return Buffer.concat([...parts, tarEnd]);
}
