import { clientCommand, withClient } from "../client-command.ts";

export const meCommand = clientCommand("me", "Show the current user, key and permissions.").action(
  withClient(async ({ client, out }) => {
    const me = await client.me.get();
    out.item({
      document: me,
      id: me.uid,
      fields: [
        ["name", me.display_name],
        ["type", me.type === "user" ? "user" : "cloud agent"],
        ["email", me.email],
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
