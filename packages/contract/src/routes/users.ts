import { z } from "zod";
import {
  InviteUserRequest,
  InviteUserResponse,
  ListUsersResponse,
  Me,
  SignInLinkResponse,
  UpdateUserRequest,
  User,
} from "../auth/user.ts";
import { noContent, route } from "../route.ts";
import { Uuid } from "../text.ts";

const userUid = z.object({ userUid: Uuid });

export const usersRoutes = {
  getMe: route({
    method: "GET",
    path: "/me",
    tag: "Keys",
    summary: "Get the caller",
    scope: "runs:read",
    responses: { 200: { description: "The caller with its role, scopes and quotas.", schema: Me } },
    errors: [],
  }),
  listUsers: route({
    method: "GET",
    path: "/users",
    tag: "Users",
    summary: "List users",
    scope: "admin",
    responses: { 200: { description: "All users, sorted by email address.", schema: ListUsersResponse } },
    errors: [],
  }),
  inviteUser: route({
    method: "POST",
    path: "/users",
    tag: "Users",
    summary: "Invite a user",
    description:
      "Creates the user and returns a one-time sign-in link. Outrider sends no email, so pass the link on yourself. It expires after seven days.",
    scope: "admin",
    body: InviteUserRequest,
    responses: {
      201: { description: "The user and the link. The link is shown only once.", schema: InviteUserResponse },
    },
    errors: ["conflict"],
  }),
  updateUser: route({
    method: "PATCH",
    path: "/users/{userUid}",
    tag: "Users",
    summary: "Update a user",
    description:
      "Changes the name or the role. A new role takes effect with the next request. The last admin cannot be demoted.",
    scope: "admin",
    params: userUid,
    body: UpdateUserRequest,
    responses: { 200: { description: "The user.", schema: User } },
    errors: ["conflict"],
  }),
  deleteUser: route({
    method: "DELETE",
    path: "/users/{userUid}",
    tag: "Users",
    summary: "Delete a user",
    description:
      "Ends the user's sessions and revokes their keys, including those of their cloud agents. Their runs are kept, and their cloud agents become yours. The last admin cannot be deleted.",
    scope: "admin",
    params: userUid,
    responses: noContent,
    errors: ["conflict"],
  }),
  createSignInLink: route({
    method: "POST",
    path: "/users/{userUid}/link",
    tag: "Users",
    summary: "Create a one-time sign-in link for a user",
    description:
      "For users who were invited or lost access. The link works once and expires after 24 hours. It replaces any earlier link for the user.",
    scope: "admin",
    params: userUid,
    responses: { 201: { description: "The link. It is shown only once.", schema: SignInLinkResponse } },
    errors: [],
  }),
};
