import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type Docker from "dockerode";
import { removeImage } from "../images/remove-image.ts";
import { commitContainer } from "./image-archive.ts";
import { readTopLayer } from "./system-layer.ts";

/** Streams the changes of a container to the system of its image, as an archive. Read or destroy it. */
export async function streamSystemLayer({
  docker,
  labels,
  container,
}: {
  docker: Docker;
  labels: Record<string, string>;
  container: Docker.Container;
}): Promise<Readable> {
  const image = await commitContainer(container, labels);
  const archive = new PassThrough();
  const stream = async () => {
    try {
      await readTopLayer(docker, image, ({ content }) => pipeline(content, archive));
    } finally {
      await removeImage(docker, image).catch(() => {}); // reap removes it later
    }
  };
  stream().catch((error: Error) => archive.destroy(error));
  return archive;
}
