/**
 * Volumes with folders of the worker that never change, such as the programs of sandboxes. They are shared by content.
 *
 * An engine cannot rename a volume or change its labels, so a bundle has two: one with the files, whose name is random, and
 * an empty one, whose name contains the content's hash and whose label names the first. The empty one is created after the
 * files are complete. Engines create a volume only once, so of several workers that fill at the same time, one wins, and a
 * crash half-way leaves only a volume that nothing names.
 */
import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import { listFolder } from "../../files/pack-files.ts";
import type { Owner } from "../../owner.ts";
import type { Bundle } from "../../sandbox.ts";
import { isEngineError } from "../engine/errors.ts";
import { labelNames, sharedLabels, sharedObjectName } from "../labels.ts";
import { uploadEntries } from "./archive.ts";
import { removeVolume } from "./remove-volume.ts";

export const bundleKind = "bundle";
export const bundleRecordKind = "bundle-record";

export interface BundleVolumeOptions {
  owner: Pick<Owner, "installation">;
  /** Any image that the engine has. Files reach a volume only through a container, which never starts. */
  image: string;
  bundle: Pick<Bundle, "id" | "folder">;
  signal?: AbortSignal | undefined;
}

/** Returns the name of a volume with the files of a bundle. Fills one if the engine has none. */
export async function ensureBundleVolume(docker: Docker, options: BundleVolumeOptions): Promise<string> {
  const { owner, bundle } = options;
  const record = sharedObjectName(owner, bundleRecordKind, bundle.id.slice(0, 32));
  const existing = await findRecorded(docker, record);
  if (existing !== undefined) return existing;
  // Somebody has removed the files. Without the record, they are stored again.
  await removeVolume(docker, record);
  const own = sharedObjectName(owner, bundleKind, bundle.id.slice(0, 12), randomUUID());
  try {
    await fill(docker, own, options);
    await docker.createVolume({
      Name: record,
      Labels: {
        ...sharedLabels(owner, { kind: bundleRecordKind, content: bundle.id }),
        [labelNames.volume]: own,
      },
    });
  } catch (error) {
    await removeVolume(docker, own).catch(() => {}); // the first failure is reported
    throw error;
  }
  const winner = await findRecorded(docker, record);
  if (winner !== own) await removeVolume(docker, own);
  return winner ?? (await ensureBundleVolume(docker, options));
}

/** Returns the volume that the record names, if both exist. */
async function findRecorded(docker: Docker, record: string): Promise<string | undefined> {
  const { Labels: labels } = (await inspectVolume(docker, record)) ?? {};
  const name = labels?.[labelNames.volume];
  return name !== undefined && (await inspectVolume(docker, name)) ? name : undefined;
}

async function inspectVolume(docker: Docker, name: string): Promise<Docker.VolumeInspectInfo | undefined> {
  try {
    return await docker.getVolume(name).inspect();
  } catch (error) {
    if (isEngineError(error, "not_found")) return undefined;
    throw error;
  }
}

async function fill(docker: Docker, volume: string, options: BundleVolumeOptions): Promise<void> {
  const { owner, image, bundle, signal } = options;
  const labels = sharedLabels(owner, { kind: bundleKind, content: bundle.id });
  await docker.createVolume({ Name: volume, Labels: labels });
  const container = await docker.createContainer({
    ...{ Image: image, Cmd: ["true"], Labels: labels, ...(signal ? { abortSignal: signal } : {}) },
    HostConfig: {
      NetworkMode: "none",
      // Otherwise the engine would copy the image's folder into the volume.
      Mounts: [
        { Type: "volume", Source: volume, Target: "/mnt", ReadOnly: false, VolumeOptions: volumeOptions },
      ],
    },
  });
  try {
    await uploadEntries(docker, container.id, "/mnt", listFolder(bundle.folder), { signal });
  } finally {
    await container.remove({ force: true });
  }
}

const volumeOptions = { NoCopy: true, Labels: {}, DriverConfig: { Name: "local", Options: {} } };
