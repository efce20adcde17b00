import { once } from "node:events";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { AttachStream } from "../../src/sandboxes/docker/containers/attach-stream.ts";

/** A frame of the engine: the number of the stream, three zeros, the length, and the data. */
function frame(stream: number, data: string): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(Buffer.byteLength(data), 4);
  return Buffer.concat([header, Buffer.from(data)]);
}

describe("the output of a container", () => {
  it("is read completely after the engine has closed the connection", async () => {
    const socket = new PassThrough();
    const stream = new AttachStream(socket);
    socket.end(Buffer.concat([frame(1, "first, "), frame(2, "a warning\n"), frame(1, "last")]));
    await once(socket.resume(), "close");

    expect(await text(stream)).toBe("first, last");
    expect(stream.stderr).toBe("a warning");
    expect(stream.destroyed).toBe(true);
  });

  it("is incomplete if the connection breaks", async () => {
    const socket = new PassThrough();
    const stream = new AttachStream(socket);
    socket.write(frame(1, "first"));
    socket.destroy();

    await expect(text(stream)).rejects.toThrow("Premature close");
  });
});
