import { posix } from "node:path";
import { Failure } from "@outrider/agent/failure";
import type { DockerfileSource } from "@outrider/contract/dockerfile";
import type { ResolvedImage } from "@outrider/contract/image";
import type { ResolvedRepository } from "../builds/repository-contents.ts";
import { openCommit } from "../repositories/commit-reader.ts";
import { type Dockerfile, parseDockerfile, type Source, type Stage } from "./parse.ts";
import { MAX_FILE_BYTES } from "./split-instructions.ts";

/** A Dockerfile at the commit of a build, with the digests of all its images. */
export interface ResolvedDockerfile {
  file: Dockerfile;
  text: string;
  blobId: string;
  source: DockerfileSource;
  repository: ResolvedRepository;
  /** By their references. */
  images: Map<string, ResolvedImage>;
  /** The image on which the last stage is based. */
  base: ResolvedImage;
}

/** Reads a Dockerfile at the commit of the environment's first repository. */
export async function readDockerfile(
  source: DockerfileSource | undefined,
  [repository]: ResolvedRepository[],
  { resolveImage, signal }: { resolveImage(reference: string): Promise<ResolvedImage>; signal: AbortSignal },
): Promise<ResolvedDockerfile | undefined> {
  if (source === undefined || !repository) return undefined;
  const { mirror, commit, url } = repository;
  const { path, target, args } = source;
  const [content] = await openCommit({ mirror, commit, signal }).read([path], { maxBytes: MAX_FILE_BYTES });
  if (content?.type !== "file")
    throw new Failure(
      "environment_setup_failed",
      content?.type === "large"
        ? `${path} is larger than 256 KiB.`
        : `${url} has no file ${path} at ${commit.slice(0, 12)}. Correct its path, or add the file's folder to \`sparse_paths\` if the repository has them.`,
    );
  const text = content.data.toString("utf8");
  const file = parseDockerfile(text, { path, target, args });
  const references = new Set(file.stages.flatMap(imagesOf));
  const resolved = await Promise.all(
    [...references].map(async (reference) => [reference, await resolveImage(reference)] as const),
  );
  const images = new Map(resolved);
  const base = images.get(baseReference(file, file.stages.at(-1) as Stage)) as ResolvedImage;
  return { file, text, blobId: content.id, source, repository, images, base };
}

const imagesOf = ({ base, sources }: Stage) =>
  [base, ...sources.values()].flatMap((source: Source) => ("image" in source ? [source.image] : []));

function baseReference({ stages }: Dockerfile, { base }: Stage): string {
  for (let source = base; ; ) {
    if ("image" in source) return source.image;
    const { stage } = source;
    source = (stages.find(({ index }) => index === stage) as Stage).base;
  }
}

/** Returns what distinguishes the build from others at the same commit. */
export function dockerfileKey({ blobId, source, images }: ResolvedDockerfile): unknown[] {
  const { path, context, target, args = {} } = source;
  const sorted = (entries: [string, unknown][]) => entries.sort(([a], [b]) => (a < b ? -1 : 1));
  const digests = [...images].map(([reference, { digest }]): [string, string] => [reference, digest]);
  return [path, blobId, context, target, sorted(Object.entries(args)), sorted(digests)];
}

/** Returns the folder of the repository that COPY can use. */
export function contextFolder({ context = "." }: DockerfileSource): string {
  return posix.normalize(context).replace(/(?<=.)\/$/, "");
}
