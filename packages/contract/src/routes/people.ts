import { z } from "zod";
import {
  InvitePersonRequest,
  InvitePersonResponse,
  ListPeopleResponse,
  Me,
  Person,
  SignInLinkResponse,
  UpdatePersonRequest,
} from "../person.ts";
import { gone, route } from "../route.ts";
import { Uuid } from "../text.ts";

const personUid = z.object({ personUid: Uuid });

export const peopleRoutes = {
  getMe: route({
    method: "GET",
    path: "/me",
    tag: "Keys",
    summary: "Who the key speaks for",
    scope: "runs:read",
    answers: { 200: { description: "Owner, role and scopes.", schema: Me } },
    errors: [],
  }),
  listPeople: route({
    method: "GET",
    path: "/people",
    tag: "People",
    summary: "List people",
    scope: "admin",
    answers: { 200: { description: "All people, by e-mail address.", schema: ListPeopleResponse } },
    errors: [],
  }),
  invitePerson: route({
    method: "POST",
    path: "/people",
    tag: "People",
    summary: "Invite a person",
    description:
      "The person exists from now on. Hand the link over yourself: Outrider sends no mail. It opens once, within seven days.",
    scope: "admin",
    body: InvitePersonRequest,
    answers: { 201: { description: "The person, and the link this once.", schema: InvitePersonResponse } },
    errors: ["conflict"],
  }),
  updatePerson: route({
    method: "PATCH",
    path: "/people/{personUid}",
    tag: "People",
    summary: "Change a person's name or role",
    description: "A new role holds from the next request on. The last admin stays one.",
    scope: "admin",
    params: personUid,
    body: UpdatePersonRequest,
    answers: { 200: { description: "The person.", schema: Person } },
    errors: ["conflict"],
  }),
  deletePerson: route({
    method: "DELETE",
    path: "/people/{personUid}",
    tag: "People",
    summary: "Delete a person",
    description:
      "Their sessions end and their keys, those of their cloud agents included, are revoked at once. Their runs stay, and their cloud agents become yours. The last admin cannot be deleted.",
    scope: "admin",
    params: personUid,
    answers: gone,
    errors: ["conflict"],
  }),
  createSignInLink: route({
    method: "POST",
    path: "/people/{personUid}/link",
    tag: "People",
    summary: "Make a one-time sign-in link for a person",
    description:
      "For somebody who was invited, or has lost access. It opens once, within 24 hours, and takes the place of the person's link before.",
    scope: "admin",
    params: personUid,
    answers: { 201: { description: "The link, this once: we keep a hash.", schema: SignInLinkResponse } },
    errors: [],
  }),
};
