import { BlockList, isIP } from "node:net";
import { z } from "zod";

/** Describes how clients reach the server: directly, over TLS, or through a reverse proxy. */
export interface Exposure {
  host: string;
  publicUrl?: string;
  /** The operator's certificate files, or a self-signed certificate that the server creates. */
  tls?: { cert: string; key: string } | "self-signed";
  /** Addresses and ranges of trusted proxies. `X-Forwarded-*` headers from other senders are ignored. */
  trustProxy: string[];
}

/** Parses a comma-separated list of addresses and ranges, such as `10.0.0.0/8, 192.168.1.5, fd00::/8`. */
export const Addresses = z
  .string()
  .default("")
  .transform((text, context) => {
    const entries = text.split(/[\s,]+/).filter((entry) => entry !== "");
    const invalid = entries.find((entry) => !isRange(entry));
    if (invalid === undefined) return entries;
    context.addIssue(
      `must be a comma-separated list of addresses and ranges like 10.0.0.0/8; \`${invalid.slice(0, 50)}\` is invalid`,
    );
    return z.NEVER;
  });

/** Parses a comma-separated list of origins, such as `https://app.example.com, http://localhost:5173`. */
export const Origins = z
  .string()
  .default("")
  .transform((text, context) => {
    const entries = text.split(/[\s,]+/).filter((entry) => entry !== "");
    const invalid = entries.find((entry) => !isOrigin(entry));
    if (invalid === undefined) return entries;
    context.addIssue(
      `must be a comma-separated list of origins like https://app.example.com, without a path or wildcard; \`${invalid.slice(0, 100)}\` is invalid`,
    );
    return z.NEVER;
  });

/** Browsers send origins in lower case and without a default port, and compare them as text. */
function isOrigin(entry: string): boolean {
  return /^https?:\/\//.test(entry) && URL.canParse(entry) && new URL(entry).origin === entry;
}

function isRange(entry: string): boolean {
  const [address = "", length, ...more] = entry.split("/");
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128));
}

/** Returns a function that checks whether an address is in one of the ranges. */
export function isWithin(ranges: string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of ranges) {
    const [address = "", length] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(length ?? (family === "ipv6" ? 128 : 32)), family);
  }
  // IPv4-mapped addresses need no special case: BlockList treats ::ffff:10.0.0.1 as 10.0.0.1.
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

const remedy =
  "Enable TLS (--tls-cert FILE --tls-key FILE, or --tls self-signed), or declare the proxy that terminates it: " +
  "--public-url https://… and --trust-proxy with the proxy's address. See docs/exposure.md";

/** Rejects a configuration that would send keys over the network in clear text. */
export function requireSafe({ host, publicUrl, tls, trustProxy }: Exposure) {
  if (tls || isLoopback(host)) return;
  const isDeclared = publicUrl?.startsWith("https://") && trustProxy.length > 0;
  if (isDeclared) return;
  throw new Error(
    `OUTRIDER_HOST ${host} is not a loopback address, so keys would cross the network in clear text. ${remedy}.`,
  );
}

/** Reads the TLS settings: either `self-signed`, or a certificate file together with its key file. */
export function readTls(
  mode: string | undefined,
  { cert, key }: { cert?: string | undefined; key?: string | undefined },
): Exposure["tls"] {
  if (mode !== undefined && mode !== "self-signed") {
    throw new Error(
      "OUTRIDER_TLS must be self-signed. To use your own files, set OUTRIDER_TLS_CERT and OUTRIDER_TLS_KEY.",
    );
  }
  if (mode && (cert || key)) {
    throw new Error(
      "OUTRIDER_TLS cannot be combined with OUTRIDER_TLS_CERT or OUTRIDER_TLS_KEY. Choose one.",
    );
  }
  if (mode) return "self-signed";
  if (!cert && !key) return undefined;
  if (!cert) throw new Error("OUTRIDER_TLS_CERT is missing. OUTRIDER_TLS_KEY requires it.");
  if (!key) throw new Error("OUTRIDER_TLS_KEY is missing. OUTRIDER_TLS_CERT requires it.");
  return { cert, key };
}
