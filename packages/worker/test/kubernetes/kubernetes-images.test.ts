/** Images of a cluster, with pods that a test answers for. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { ClusterError, type ClusterErrorCode } from "../../src/sandboxes/kubernetes/cluster/errors.ts";
import {
  type ImageFacts,
  KubernetesImages,
  type KubernetesImagesOptions,
} from "../../src/sandboxes/kubernetes/images/kubernetes-images.ts";
import { layer } from "../images/images-support.ts";
import { makeImage } from "../images/registry-server.ts";
import { answer, serve } from "../images/stub-registry.ts";

const image = makeImage({ layers: [layer({ name: "file", text: "text" })], compress: (tar) => tar });
const facts: ImageFacts = { accounts: "root:x:0:0::/root:/bin/sh\n", osRelease: "ID=test\n" };
const credentials = "me:secret";
const never = new AbortController().signal;

/** The registry needs the credentials. */
async function openImages(options: Partial<KubernetesImagesOptions>) {
  const authorization = `Basic ${Buffer.from(credentials).toString("base64")}`;
  const host = await serve((request, response) => {
    if (request.headers.authorization === authorization) answer(image)(request, response);
    else response.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end();
  });
  const folder = mkdtempSync(join(tmpdir(), "outrider-images-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const images = new KubernetesImages({
    cluster: { namespace: "agents", isAllowed: async () => true },
    ...{ podOptions: {}, folder, ids: () => ({ enforced: true as const, by: "test" }), upstream: undefined },
    exceptions: parseExceptions("127.0.0.1"),
    probe: async () => facts,
    ...options,
  });
  return (more: Partial<Parameters<typeof images.pull>[1]> = {}) =>
    images.pull(
      { reference: `${host}/app:v1`, digest: image.digest },
      { credentials, secretName: "registry", signal: never, ...more },
    );
}

test("callers that need an image at the same time share a pod, but not what the registry refuses them", async () => {
  const probed = Promise.withResolvers<ImageFacts>();
  const probe = vi.fn(() => probed.promise);
  const pull = await openImages({ probe });
  const started = Promise.withResolvers<void>();
  const onProgress = (message: string) => void (/starts a pod/.test(message) && started.resolve());
  const first = pull({ onProgress });
  await started.promise;
  const second = pull();
  await expect(pull({ credentials: "me:other" })).rejects.toMatchObject({ code: "unauthorized" });
  probed.resolve(facts);
  expect(await first).toMatchObject({ osRelease: facts.osRelease });
  expect(await second).toEqual(await first);
  expect(probe).toHaveBeenCalledTimes(1);
});

test("a pod that is shared ends with the last caller that needs it", async () => {
  const signals: AbortSignal[] = [];
  const pull = await openImages({
    probe: (_, signal) => {
      signals.push(signal);
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
      );
    },
  });
  const callers = [new AbortController(), new AbortController()];
  const progress = vi.fn();
  const pulls = callers.map(({ signal }) => pull({ signal, onProgress: progress }));
  await vi.waitFor(() => expect(progress).toHaveBeenCalledTimes(2));
  callers[0]?.abort(new Error("first"));
  await expect(pulls[0]).rejects.toThrow("first");
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  callers[1]?.abort(new Error("second"));
  await expect(pulls[1]).rejects.toThrow("second");
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

describe("a cluster that does not tell the worker its rights", () => {
  const cluster = (code: ClusterErrorCode) => ({
    namespace: "agents",
    isAllowed: async () => {
      throw new ClusterError(code, "The worker's account may not review its own rights.");
    },
  });

  test("pulls private images with the operator's credentials", async () => {
    const podOptions = { imagePullSecrets: [{ name: "registry" }] };
    const pull = await openImages({ cluster: cluster("forbidden"), podOptions });
    expect(await pull()).toMatchObject({ digest: image.digest });
  });

  test("needs the operator's credentials for private images", async () => {
    const pull = await openImages({ cluster: cluster("forbidden") });
    await expect(pull()).rejects.toMatchObject({
      message: expect.stringMatching(/`docker_image_secret` cannot be used/),
      remedy: expect.stringContaining("`imagePullSecrets`"),
    });
  });

  test("because it does not respond is asked again by the next attempt", async () => {
    const pull = await openImages({ cluster: cluster("unreachable") });
    await expect(pull()).rejects.toMatchObject({ code: "unreachable", isRecoverable: true });
  });
});
