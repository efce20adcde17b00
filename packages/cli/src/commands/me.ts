import { clientCommand, withClient } from "../client-command.ts";

export const meCommand = clientCommand("me", "Say who the key speaks for, and what it may do.").action(
  withClient(async ({ client, out }) => {
    const me = await client.me.get();
    out.item({
      document: me,
      id: me.uid,
      members: [
        ["name", me.display_name],
        ["type", me.type === "user" ? "person" : "cloud agent"],
        ["e-mail", me.email],
        ["role", me.role],
        ["uid", me.uid],
        ["key", me.key && `${me.key.name} (${me.key.type})`],
        ["scopes", me.key?.scopes.join(", ")],
        ["expires", me.key?.expires_at],
        ["server", client.baseURL],
      ],
    });
  }),
);
