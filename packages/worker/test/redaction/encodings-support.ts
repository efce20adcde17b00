import { execFileSync } from "node:child_process";

/** Secrets with characters that encoders treat specially. */
export const awkwardSecrets: Record<string, string> = {
  "a password with special characters": `p@ss w"rd'$HOME&<x>%41+\\n;*`,
  "characters outside of ASCII": "schlüssel-ä€-😀-für-alles",
  "a token": "ghp_A1b2C3d4/E5f6+G7h8==",
  "quotes and backslashes": `it's "a" \\ back\\\\slash \`tick\``,
  "a private key": `-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC+/MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nAQEFAASCBKgwggSkAgEAAoIBxyz12345\nend==\n-----END KEY-----\n`,
};

const python = (expression: string) =>
  `python3 -c 'import os, json, html, shlex, base64, urllib.parse; s = os.environ["S"]; print(${expression})'`;
const piped = (command: string) => `printf %s "$S" | ${command}`;

/** Commands that print the variable S, by the name of the encoding. */
export const encoders: Record<string, string> = {
  printf: 'printf "%s\\n" "$S"',
  "printf %q": 'printf "%q\\n" "$S"',
  "printf %q in the C locale": 'LC_ALL=C; printf "%q\\n" "$S"',
  "export -p": "export -p",
  "export -p in the C locale": "LC_ALL=C; export -p",
  set: "set | grep -a ^S=",
  "quote()": python("urllib.parse.quote(s)"),
  "quote(safe='')": python('urllib.parse.quote(s, safe="")'),
  "quote_plus()": python("urllib.parse.quote_plus(s)"),
  "json.dumps()": python("json.dumps(s)"),
  "json.dumps() without escaped characters": python("json.dumps(s, ensure_ascii=False)"),
  "json.dumps() of JSON": python("json.dumps(json.dumps(s))"),
  "repr()": python("repr(s)"),
  "repr() of bytes": python("repr(s.encode())"),
  "ascii()": python("ascii(s)"),
  "html.escape()": python("html.escape(s)"),
  "shlex.quote()": python("shlex.quote(s)"),
  base64: piped("base64"),
  "base64 in short, indented lines": piped("base64 -w 20 | sed 's/^/    /'"),
  "base64 with line breaks in JSON": python("json.dumps(base64.encodebytes(s.encode()).decode())"),
  "base64 in a patch": piped("base64 -w 20 | sed 's/^/+/'"),
  "xxd -p": piped("xxd -p"),
  "xxd -i": piped("xxd -i"),
  xxd: piped("xxd"),
  "xxd -g 1 -c 7 -u": piped("xxd -g 1 -c 7 -u"),
  "xxd in a patch": piped("xxd | sed 's/^/+/'"),
  od: piped("od"),
  "od -A x": piped("od -A x"),
  "od -An": piped("od -An"),
  "od -c": piped("od -c"),
  "od -An -c": piped("od -An -c"),
  "od -b": piped("od -b"),
  "od -x": piped("od -x"),
  "od -t x1": piped("od -t x1"),
  "od -An -t x1": piped("od -An -t x1"),
  "od -t x1z": piped("od -t x1z"),
  "od -t x4": piped("od -t x4"),
  hexdump: piped("hexdump"),
  "hexdump -C": piped("hexdump -C"),
  "hexdump -b": piped("hexdump -b"),
};

/** Prints a secret in all encodings. */
export function encode(secret: string): Map<string, Buffer> {
  const script = Object.entries(encoders).map(
    ([name, command]) => `printf '\\036%s\\037' ${JSON.stringify(name)}; (${command})`,
  );
  const env = { PATH: process.env.PATH, LC_ALL: "C.UTF-8", S: secret };
  const output = execFileSync("bash", ["--norc", "-c", script.join("\n")], { env, maxBuffer: 1e8 });
  const sections = output.toString("latin1").split("\x1e").slice(1);
  return new Map(
    sections.map((section) => {
      const [name = "", text = ""] = section.split("\x1f");
      if (text === "")
        throw new Error(`${name} printed nothing. Run \`make setup-test\` to install the program.`);
      return [name, Buffer.from(text, "latin1")];
    }),
  );
}
