import { InstructionError } from "./split-instructions.ts";

/** A folder or file that exists only while a RUN instruction runs. */
export type RunMount =
  | {
      type: "bind";
      source: string | undefined;
      target: string;
      /** A stage or an image. Undefined for the build context. */
      from: string | undefined;
    }
  | {
      /** A cache stays until the end of the stage, `tmpfs` until the end of the instruction. */
      type: "cache" | "tmpfs";
      target: string;
      owner: string | undefined;
      mode: string | undefined;
    }
  | {
      type: "secret";
      id: string;
      /** Where the file is. Undefined if only `env` is set. */
      target: string | undefined;
      env: string | undefined;
      isRequired: boolean;
      owner: string | undefined;
      mode: string | undefined;
    };

const targetNames = ["target", "dst", "destination"];
const known: Record<RunMount["type"], string[]> = {
  bind: ["type", ...targetNames, "source", "src", "from", "ro", "readonly", "rw", "readwrite"],
  cache: ["type", "target", "dst", "destination", "id", "sharing", "uid", "gid", "mode"],
  tmpfs: ["type", "target", "dst", "destination", "size"],
  secret: [
    "type",
    "id",
    "src",
    "source",
    "target",
    "dst",
    "destination",
    "env",
    "required",
    "uid",
    "gid",
    "mode",
  ],
};
const refused: Record<string, string> = {
  ssh: "sandboxes have no SSH agent; use a token with --mount=type=secret.",
};
const MAX_MOUNTS = 20;

export function readMounts(values: string[], line: number): RunMount[] {
  if (values.length > MAX_MOUNTS) throw new InstructionError(line, `RUN has more than ${MAX_MOUNTS} mounts.`);
  return values.map((value) => readMount(value, line));
}

function readMount(value: string, line: number): RunMount {
  const fields = new Map(
    value.split(",").map((field): [string, string] => {
      const [name = "", ...rest] = field.split("=");
      return [name.toLowerCase(), rest.join("=").replace(/^"(.*)"$/, "$1")];
    }),
  );
  const type = fields.get("type") ?? "bind";
  if (type !== "bind" && type !== "cache" && type !== "tmpfs" && type !== "secret")
    throw new InstructionError(
      line,
      `RUN --mount=type=${type.slice(0, 50)} is not supported: ${refused[type] ?? "remove it."}`,
    );
  const other = [...fields.keys()].find((name) => !known[type].includes(name));
  if (other !== undefined)
    throw new InstructionError(
      line,
      `RUN --mount=type=${type} with ${other.slice(0, 50)} is not supported: remove it.`,
    );
  const target = fields.get("target") ?? fields.get("dst") ?? fields.get("destination");
  const [uid, gid] = [fields.get("uid"), fields.get("gid")];
  const owner = uid === undefined && gid === undefined ? undefined : `${uid ?? 0}:${gid ?? 0}`;
  const mode = fields.get("mode");
  const source = fields.get("src") ?? fields.get("source");
  if (type !== "secret") {
    if (!target) throw new InstructionError(line, `RUN --mount=type=${type} needs a target.`);
    if (type === "bind") return { type, target, source, from: fields.get("from") };
    return { type, target, owner, mode };
  }
  const env = fields.get("env");
  const id = fields.get("id") ?? source ?? target?.split("/").at(-1) ?? env;
  if (!id) throw new InstructionError(line, "RUN --mount=type=secret needs an id.");
  const isRequired = fields.has("required") && fields.get("required") !== "false";
  const file = target ?? (env === undefined ? `/run/secrets/${id}` : undefined);
  return { type, id, env, owner, mode, isRequired, target: file };
}
