import type { Role } from "@outrider/sdk";

export const roleLabels: Record<Role, string> = { member: "Member", admin: "Admin" };
