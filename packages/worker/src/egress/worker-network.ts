import { join } from "node:path";
import { setGlobalDispatcher } from "undici";
import { createUpstreamDispatcher } from "./dispatcher.ts";
import { type Exceptions, parseExceptions } from "./exceptions.ts";
import {
  combineCertificates,
  readExtraCertificates,
  type SandboxCertificates,
  trustCertificates,
} from "./extra-ca.ts";
import { setModelNetwork } from "./model-network.ts";
import { parseUpstreamProxy, type UpstreamProxy } from "./upstream-proxy.ts";

/** The operator's settings for the network that a worker is in. */
export interface NetworkSettings {
  /** Private addresses that sandboxes, git and MCP calls may reach, for example `10.0.0.0/8, git.internal:22`. */
  allowedAddresses?: string;
  /** A PEM file with certificates that the worker, git and sandboxes trust in addition to the public authorities. */
  extraCa?: string;
  /** The company's proxy: `http://[user:password@]host:port`. */
  upstreamProxy?: string;
  /** Hosts that are reached without the company's proxy. */
  noProxy?: string;
  /** Variables such as PATH and HOME, with which the worker's package managers find their configuration. */
  toolEnvironment?: Record<string, string>;
}

export interface WorkerNetwork {
  exceptions: Exceptions;
  upstream: UpstreamProxy | undefined;
  /** Undefined without extra certificates. */
  certificates: SandboxCertificates | undefined;
}

/**
 * Applies the settings to this process, so that its `fetch` and TLS connections use them, and returns what sandboxes and
 * git need. Throws an error that names the setting if one is invalid.
 */
export function openWorkerNetwork(settings: NetworkSettings & { folder: string }): WorkerNetwork {
  const { allowedAddresses = "", extraCa, upstreamProxy, noProxy, folder } = settings;
  const exceptions = parseExceptions(allowedAddresses);
  const upstream = parseUpstreamProxy({ url: upstreamProxy, noProxy });
  if (upstream) setGlobalDispatcher(createUpstreamDispatcher(upstream));
  setModelNetwork({ exceptions, upstream });
  if (!extraCa) return { exceptions, upstream, certificates: undefined };
  const extra = readExtraCertificates(extraCa);
  trustCertificates(extra);
  return { exceptions, upstream, certificates: combineCertificates(join(folder, "certificates"), extra) };
}
