import { AttachmentPaths } from "@outrider/agent/attachments";
import { withFileList } from "@outrider/agent/conversation/messages";
import type { LogEvent } from "@outrider/agent/event";
import type { RunFiles } from "@outrider/agent/files";
import { isSupportedImage, MAX_IMAGE_BYTES } from "@outrider/agent/supported-images";
import type { SentFile } from "@outrider/contract/event";
import { sandboxPaths } from "../../sandboxes/paths.ts";
import type { Prompt } from "./profile.ts";

const MAX_IMAGES = 10;
/** The limit for all images of a prompt, before base64 encoding adds a third. */
const MAX_TOTAL_BYTES = 10 * 2 ** 20;

export interface UserMessage {
  text: string;
  attachments?: readonly SentFile[] | undefined;
}

/**
 * Converts the messages of users to prompts. Attachments are already in the sandbox (see workspace/attachments.ts), so a
 * prompt names their paths. If the agent and its model take images, it also contains the images.
 */
export class UserPrompts {
  readonly #takesImages: boolean;
  readonly #paths = new AttachmentPaths();
  readonly #pathsById = new Map<string, string>();

  constructor({ takesImages }: { takesImages: boolean }) {
    this.#takesImages = takesImages;
  }

  /** Reads the log, because the path of an attachment depends on all attachments before it. */
  readLog(history: readonly LogEvent[]): void {
    for (const { type, data } of history) {
      if (type === "run.created" || type === "message.user") this.#assignPaths(data.attachments);
    }
  }

  /** Returns the prompt for a message that is in the log, or that follows all messages in it. */
  async toPrompt(
    { text, attachments = [] }: UserMessage,
    files: Pick<RunFiles, "readAttachment">,
  ): Promise<Prompt> {
    if (attachments.length === 0) return [{ type: "text", text }];
    this.#assignPaths(attachments);
    const listed = attachments.map((file) => ({
      ...file,
      path: this.#pathsById.get(file.attachment_id) ?? "",
    }));
    return [
      { type: "text", text: withFileList(text, listed) },
      ...(this.#takesImages ? await readImages(attachments, files) : []),
    ];
  }

  #assignPaths(attachments: readonly SentFile[] = []) {
    for (const { attachment_id: id, file_name } of attachments) {
      if (this.#pathsById.has(id)) continue;
      this.#pathsById.set(id, this.#paths.assign(file_name).replace(/^~/, sandboxPaths.home));
    }
  }
}

/** Reads the images that fit. The agent can read the others from their files. */
async function readImages(
  attachments: readonly SentFile[],
  files: Pick<RunFiles, "readAttachment">,
): Promise<Prompt> {
  const images: Prompt = [];
  let bytes = 0;
  for (const { attachment_id, mime_type, size_bytes } of attachments) {
    if (!isSupportedImage(mime_type) || size_bytes > MAX_IMAGE_BYTES) continue;
    if (images.length === MAX_IMAGES || bytes + size_bytes > MAX_TOTAL_BYTES) break;
    const data = await files.readAttachment(attachment_id).catch(() => undefined);
    if (!data || data.length > MAX_IMAGE_BYTES) continue;
    bytes += data.length;
    images.push({ type: "image", mimeType: mime_type, data: Buffer.from(data).toString("base64") });
  }
  return images;
}
