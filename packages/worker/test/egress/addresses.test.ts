import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isOwnAddress, isPublic } from "../../src/egress/addresses.ts";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { formatAuthority, normalizeHost, parseTarget } from "../../src/egress/host.ts";
import { createPolicyCheck } from "../../src/egress/policy.ts";

describe("an address", () => {
  test.each([
    ["this network", "0.0.0.0", "0.255.255.255"],
    ["private, large", "10.0.0.0", "10.255.255.255"],
    ["carrier-grade NAT", "100.64.0.0", "100.127.255.255"],
    ["loopback", "127.0.0.0", "127.255.255.255"],
    ["link-local", "169.254.0.0", "169.254.255.255"],
    ["private, middle", "172.16.0.0", "172.31.255.255"],
    ["protocol assignments", "192.0.0.0", "192.0.0.255"],
    ["documentation 1", "192.0.2.0", "192.0.2.255"],
    ["sinkholes for private reverse DNS", "192.31.196.0", "192.31.196.255"],
    ["multicast relays", "192.52.193.0", "192.52.193.255"],
    ["6to4 relays", "192.88.99.0", "192.88.99.255"],
    ["private, small", "192.168.0.0", "192.168.255.255"],
    ["more sinkholes for private reverse DNS", "192.175.48.0", "192.175.48.255"],
    ["benchmarking", "198.18.0.0", "198.19.255.255"],
    ["documentation 2", "198.51.100.0", "198.51.100.255"],
    ["documentation 3", "203.0.113.0", "203.0.113.255"],
    ["multicast", "224.0.0.0", "239.255.255.255"],
    ["reserved and broadcast", "240.0.0.0", "255.255.255.255"],
    ["a cloud's internal address", "168.63.129.16", "168.63.129.16"],
  ])("is not public: %s", (_, first, last) => {
    for (const address of [first, last]) {
      expect(isPublic(address), address).toBe(false);
      expect(isPublic(`::ffff:${address}`), `${address} mapped`).toBe(false);
      expect(isPublic(`::${address}`), `${address} compatible`).toBe(false);
      expect(isPublic(`64:ff9b::${address}`), `${address} by NAT64`).toBe(false);
    }
    for (const neighbor of [numberOf(first) - 1, numberOf(last) + 1].filter((n) => n > 0 && n < 2 ** 32)) {
      const address = addressOf(neighbor);
      if (sharedBoundaries.includes(address)) continue;
      expect(isPublic(address), address).toBe(true);
      expect(isPublic(`::ffff:${address}`), `${address} mapped`).toBe(true);
      expect(isPublic(`64:ff9b::${address}`), `${address} by NAT64`).toBe(true);
    }
  });

  test.each([
    "::",
    "::1",
    "::2",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:2::1",
    "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "2620:4f:8000::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "fec0::1",
    "ff02::1",
  ])("is not public: %s", (address) => {
    expect(isPublic(address)).toBe(false);
  });

  test.each(["1.1.1.1", "8.8.8.8", "2606:4700::1111", "2a00:1450:4001::200e", "2001:4860:4860::8888"])(
    "is public: %s",
    (address) => {
      expect(isPublic(address)).toBe(true);
    },
  );

  test("of this machine is recognized in any form", () => {
    const one = { netmask: "", mac: "", internal: false, cidr: null };
    const interfaces = {
      eth0: [
        { ...one, address: "8.8.4.4", family: "IPv4" as const },
        { ...one, address: "2606:4700:0::7", family: "IPv6" as const, scopeid: 0 },
      ],
    };
    for (const address of ["8.8.4.4", "::ffff:8.8.4.4", "2606:4700::7"])
      expect(isOwnAddress(address, interfaces)).toBe(true);
    expect(isOwnAddress("8.8.8.8", interfaces)).toBe(false);
    expect(isOwnAddress("127.0.0.1")).toBe(true);
  });

  test("is public in NAT64 form if and only if it is public itself", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isPublic(`64:ff9b::${address}`)).toBe(isPublic(address));
        expect(isPublic(`::ffff:${address}`)).toBe(isPublic(address));
      }),
    );
  });
});

/** Neighbors that belong to the next range in the table. */
const sharedBoundaries = ["239.255.255.255", "240.0.0.0"];

function numberOf(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function addressOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}

describe("a host", () => {
  test.each([
    ["Example.COM.", "example.com"],
    ["münchen.de", "xn--mnchen-3ya.de"],
    ["XN--MNCHEN-3YA.de", "xn--mnchen-3ya.de"],
    ["127.1", "127.0.0.1"],
    ["0x7f000001", "127.0.0.1"],
    ["2130706433", "127.0.0.1"],
    ["017700000001", "127.0.0.1"],
    ["10.1.", "10.0.0.1"],
    ["[::FFFF:127.0.0.1]", "127.0.0.1"],
    ["::ffff:7f00:1", "127.0.0.1"],
    ["[2001:DB8:0:0::1]", "2001:db8::1"],
    ["my_host.example", "my_host.example"],
  ])("normalizes %s to %s", (text, form) => {
    expect(normalizeHost(text)).toBe(form);
    expect(normalizeHost(form)).toBe(form);
  });

  test.each([
    "",
    ".",
    "a..b",
    ".a",
    "a b",
    "a/b",
    "a:1",
    "a@b",
    "%31.example",
    "fe80::1%eth0",
    "-",
    "a-.b",
    "1.2.3.4.5",
    "[::1",
    "*",
    "a\r\nb",
    "a\0b",
    `${"a".repeat(64)}.b`,
    `${"a.".repeat(127)}aa`,
  ])("rejects %j", (text) => {
    expect(normalizeHost(text)).toBeUndefined();
  });

  test.each([
    "a",
    "a:",
    "a:0",
    "a:65536",
    "a:1e3",
    "a:+1",
    "a: 80",
    "u@a:80",
    "::1:80",
    "[::1]",
    "[a]:80",
    "http://a:80",
    "a:80/",
    "",
    ":80",
    "a:443:80",
    "ä:80",
  ])("with a port rejects %j", (text) => {
    expect(parseTarget(text)).toBeUndefined();
  });

  test("with a port can be formatted and parsed again", () => {
    for (const text of ["example.com:443", "[2606:4700::1]:22", "1.1.1.1:80"]) {
      expect(formatAuthority(parseTarget(text) as NonNullable<ReturnType<typeof parseTarget>>)).toBe(text);
    }
  });
});

describe("the operator's exceptions", () => {
  const exceptions = parseExceptions(
    " 10.0.0.0/8, 127.0.0.1:8080,git.internal , *.corp.internal:443, [::1]:22, fd00::/8, [fe80::/10]:80, 192.168.0.0/16:3000,",
  );
  test.each([
    ["10.1.2.3", 1, "10.1.2.3", true],
    ["any.example", 1, "10.1.2.3", true],
    ["any.example", 1, "11.1.2.3", false],
    ["any.example", 8080, "127.0.0.1", true],
    ["any.example", 8081, "127.0.0.1", false],
    ["git.internal", 9, "172.16.0.1", true],
    ["not.git.internal", 9, "172.16.0.1", false],
    ["a.b.corp.internal", 443, "172.16.0.1", true],
    ["corp.internal", 443, "172.16.0.1", false],
    ["a.corp.internal", 80, "172.16.0.1", false],
    ["::1", 22, "::1", true],
    ["::1", 23, "::1", false],
    ["x", 7, "fd12::1", true],
    ["x", 80, "fe80::1", true],
    ["x", 81, "fe80::1", false],
    ["x", 3000, "192.168.9.9", true],
    ["x", 3001, "192.168.9.9", false],
  ])("cover %s:%i at %s: %s", (host, port, address, covered) => {
    expect(exceptions.covers({ host, port, address })).toBe(covered);
  });

  test("cover nothing if the list is empty", () => {
    expect(parseExceptions("").covers({ host: "a", port: 1, address: "10.0.0.1" })).toBe(false);
  });

  test.each([
    ["10.0.0.0/33", "must have a prefix length between 0 and 32"],
    ["fd00::/129", "must have a prefix length between 0 and 128"],
    ["10.0.0.0/", "must have a prefix length"],
    ["::ffff:10.0.0.0/104", "write it as IPv4"],
    ["host/8", "must start with an IP address"],
    ["git.internal:0", "between 1 and 65535"],
    ["git.internal:99999", "between 1 and 65535"],
    ["git.internal:http", "between 1 and 65535"],
    ["[git.internal]:22", "other than IPv6"],
    ["git internal", "not an address, range or host name"],
    ["*", "not an address, range or host name"],
    ["*.10.0.0.1", "not an address, range or host name"],
    ["a.*.b", "not an address, range or host name"],
  ])("reject %j and name the entry", (text, problem) => {
    expect(() => parseExceptions(`10.0.0.1, ${text}`)).toThrow(problem);
    expect(() => parseExceptions(text)).toThrow(JSON.stringify(text));
  });
});

describe("an egress policy", () => {
  const none = parseExceptions("");
  const list = createPolicyCheck(
    { mode: "allowlist", allow: ["Example.com.", "*.wild.example", "münchen.de", "10.0.0.5"] },
    parseExceptions("example.com:3000, 10.0.0.0/8:4000"),
  );

  test.each([
    ["example.com", 443, true],
    ["example.com", 80, true],
    ["example.com", 22, true],
    ["example.com", 3000, true],
    ["example.com", 8080, false],
    ["10.0.0.5", 443, true],
    ["10.0.0.5", 4000, false],
    ["www.example.com", 443, false],
    ["notexample.com", 443, false],
    ["example.com.evil.example", 443, false],
    ["wild.example", 443, false],
    ["a.wild.example", 443, true],
    ["a.b.wild.example", 443, true],
    ["awild.example", 443, false],
    ["xn--mnchen-3ya.de", 443, true],
    ["1.2.3.4", 443, false],
    ["::1", 443, false],
  ])("with an allowlist allows %s:%i: %s", (host, port, allowed) => {
    expect(list({ host, port }) === undefined).toBe(allowed);
  });

  test("gives the reason and who can change it", () => {
    expect(list({ host: "evil.example", port: 443 })).toEqual({
      reason: "it is not in the environment's allowlist",
      remedy: "The environment's owner can add `evil.example` to `network.allow`",
    });
    expect(list({ host: "example.com", port: 25 })?.reason).toContain("22, 80, 443");
  });

  test("allows every port in open mode and nothing in none mode", () => {
    expect(createPolicyCheck({ mode: "open", allow: [] }, none)({ host: "a", port: 25 })).toBeUndefined();
    const closed = createPolicyCheck(
      { mode: "none", allow: ["example.com"] },
      parseExceptions("example.com:443"),
    );
    expect(closed({ host: "example.com", port: 443 })?.reason).toBe("the environment has no network");
  });

  test("rejects an invalid domain", () => {
    expect(() => createPolicyCheck({ mode: "allowlist", allow: ["https://a"] }, none)).toThrow('"https://a"');
  });
});
