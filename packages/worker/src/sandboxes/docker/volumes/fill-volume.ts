import type Docker from "dockerode";

/**
 * Unpacks an archive into a volume. Engines write files only through a container, so this creates one that never starts.
 * `image` is any image that the engine has.
 */
export async function fillVolume(
  docker: Docker,
  {
    volume,
    image,
    archive,
    labels,
  }: {
    volume: string;
    image: string;
    archive: Buffer;
    labels: Record<string, string>;
  },
): Promise<void> {
  const container = await docker.createContainer({
    Image: image,
    Cmd: ["none"],
    Labels: labels,
    HostConfig: {
      NetworkMode: "none",
      Mounts: [{ Type: "volume", Source: volume, Target: "/volume", VolumeOptions: noCopy }],
    },
  });
  try {
    await container.putArchive(archive, { path: "/volume" });
  } finally {
    await container.remove({ force: true });
  }
}

/** Keeps the engine from filling an empty volume with the image's files. The types require all options. */
export const noCopy = { NoCopy: true, Labels: {}, DriverConfig: { Name: "", Options: {} } };
