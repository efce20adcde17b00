import { BlockList, isIP } from "node:net";
import { z } from "zod";

/** How clients reach the server, and who stands in between. */
export interface Exposure {
  host: string;
  publicUrl?: string;
  /** Files that somebody else renews, or a certificate of our own making. */
  tls?: { cert: string; key: string } | "self-signed";
  /** Addresses and ranges of proxies: theirs is the only word on where a request came from. */
  trustProxy: string[];
}

/** `10.0.0.0/8, 192.168.1.5, fd00::/8` */
export const Addresses = z
  .string()
  .default("")
  .transform((text, context) => {
    const entries = text.split(/[\s,]+/).filter((entry) => entry !== "");
    const wrong = entries.find((entry) => !isRange(entry));
    if (wrong === undefined) return entries;
    context.addIssue(
      `must be addresses and ranges like 10.0.0.0/8, separated by commas; \`${wrong.slice(0, 50)}\` is neither`,
    );
    return z.NEVER;
  });

function isRange(entry: string): boolean {
  const [address = "", length, ...more] = entry.split("/");
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128));
}

/** Whether an address, in whatever form a socket shows it, is in one of the ranges. */
export function isWithin(ranges: string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of ranges) {
    const [address = "", length] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(length ?? (family === "ipv6" ? 128 : 32)), family);
  }
  // The list takes ::ffff:10.0.0.1 for 10.0.0.1 by itself.
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

const remedy =
  "Let Outrider speak TLS (--tls-cert FILE --tls-key FILE, or --tls self-signed), or declare the proxy that does: " +
  "--public-url https://… and --trust-proxy with the proxy's address. docs/exposure.md has both";

/** Throws where keys would travel in the clear. */
export function requireSafe({ host, publicUrl, tls, trustProxy }: Exposure) {
  if (tls || isLoopback(host)) return;
  const isDeclared = publicUrl?.startsWith("https://") && trustProxy.length > 0;
  if (isDeclared) return;
  throw new Error(
    `OUTRIDER_HOST ${host} is not a loopback address, and keys would travel to it in the clear. ${remedy}.`,
  );
}

/** The two files come together, or `self-signed` alone. */
export function readTls(
  mode: string | undefined,
  { cert, key }: { cert?: string | undefined; key?: string | undefined },
): Exposure["tls"] {
  if (mode !== undefined && mode !== "self-signed") {
    throw new Error("OUTRIDER_TLS must be self-signed; for files of yours, set OUTRIDER_TLS_CERT and _KEY.");
  }
  if (mode && (cert || key)) {
    throw new Error("OUTRIDER_TLS is self-signed, and OUTRIDER_TLS_CERT or _KEY is set: choose one of them.");
  }
  if (mode) return "self-signed";
  if (!cert && !key) return undefined;
  if (!cert) throw new Error("OUTRIDER_TLS_CERT is missing: OUTRIDER_TLS_KEY needs its certificate.");
  if (!key) throw new Error("OUTRIDER_TLS_KEY is missing: OUTRIDER_TLS_CERT needs its private key.");
  return { cert, key };
}
