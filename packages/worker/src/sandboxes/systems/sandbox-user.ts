/** The user of a sandbox without an image. */
export const sandboxUser = { uid: 1000, gid: 1000 };
