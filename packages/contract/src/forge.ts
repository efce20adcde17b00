import { z } from "zod";
import { pattern, Timestamp, text, Uuid } from "./text.ts";

export const forgeTypes = ["github", "gitlab", "gitea"] as const;

export const ForgeType = z.enum(forgeTypes).meta({
  id: "ForgeType",
  description: "`gitea` also stands for Forgejo.",
});
export type ForgeType = z.infer<typeof ForgeType>;

const ForgeUrl = z
  .url({ protocol: /^https?$/, error: "must be an http or https URL such as `https://github.com`" })
  .max(2_048)
  .superRefine((value, context) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.username || url?.password)
      context.addIssue("must not contain credentials; send them as `token`");
  });

export const RepositoryFullName = pattern(
  /^[A-Za-z0-9_.-]{1,100}(\/[A-Za-z0-9_.-]{1,100}){1,10}$/,
  "must be the owner and name of a repository, such as `acme/api`",
);

export const ForgeRequest = z
  .strictObject({
    type: ForgeType,
    url: ForgeUrl.optional().meta({
      description:
        "Address of the forge. Required for `gitea`. Default: `https://github.com` or `https://gitlab.com`.",
    }),
    token: pattern(
      /^[\x21-\x7e]{8,4096}$/,
      "must have 8 to 4096 letters, digits or other ASCII characters, without spaces",
    ).meta({
      description: "Access token. It is encrypted, and no response contains it.",
    }),
  })
  .refine(({ type, url }) => type !== "gitea" || url !== undefined, {
    path: ["url"],
    error: "is required for `gitea`",
  })
  .meta({ id: "ForgeRequest", examples: [{ type: "github", token: "github_pat_11AAAA" }] });
export type ForgeRequest = z.infer<typeof ForgeRequest>;

export const ForgeTestStep = z
  .object({
    step: z.enum(["authenticate", "read_repository", "clone", "push", "pull_request", "clean_up"]),
    ok: z.boolean(),
    message: z.string(),
    remedy: z.string().optional(),
  })
  .meta({ id: "ForgeTestStep" });
export type ForgeTestStep = z.infer<typeof ForgeTestStep>;

export const ForgeTest = z
  .object({ repository: z.string(), ok: z.boolean(), steps: z.array(ForgeTestStep), tested_at: Timestamp })
  .meta({ id: "ForgeTest" });
export type ForgeTest = z.infer<typeof ForgeTest>;

export const Forge = z
  .object({
    forge_id: Uuid,
    type: ForgeType,
    url: z.string(),
    host: z.string().meta({ description: "Host of the repositories, with the port if it has one." }),
    auth: z.enum(["token", "app"]),
    login: z.string().meta({ description: "The user or app that Outrider acts as." }),
    install_url: z.string().optional().meta({
      description: "Where a GitHub App is installed in more organizations or repositories.",
    }),
    last_test: ForgeTest.optional(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "Forge", description: "A git hosting service at which runs can publish changes." });
export type Forge = z.infer<typeof Forge>;

export const ListForgesResponse = z.object({ forges: z.array(Forge) }).meta({ id: "ListForgesResponse" });

export const ForgeRepository = z
  .object({
    repository: z.string(),
    default_branch: z.string(),
    can_push: z.boolean(),
    is_private: z.boolean(),
  })
  .meta({ id: "ForgeRepository" });
export type ForgeRepository = z.infer<typeof ForgeRepository>;

export const ListForgeRepositoriesResponse = z
  .object({ repositories: z.array(ForgeRepository), has_more: z.boolean() })
  .meta({ id: "ListForgeRepositoriesResponse" });

export const ForgeTestRequest = z
  .strictObject({ repository: RepositoryFullName })
  .meta({ id: "ForgeTestRequest", examples: [{ repository: "acme/api" }] });

export const AppManifestRequest = z
  .strictObject({
    url: ForgeUrl.optional().meta({
      description: "Address of GitHub Enterprise. Default: `https://github.com`.",
    }),
    organization: pattern(/^[A-Za-z0-9-]{1,100}$/, "must be the name of an organization")
      .optional()
      .meta({
        description: "The organization that owns the app. Default: the user who creates it.",
      }),
  })
  .meta({ id: "AppManifestRequest" });

export const AppManifest = z
  .object({
    manifest_id: Uuid,
    action_url: z.string().meta({ description: "Submit a form with the field `manifest` to this URL." }),
    manifest: z.string().meta({ description: "JSON text." }),
    expires_at: Timestamp,
  })
  .meta({ id: "AppManifest", description: "The settings with which GitHub creates an app." });

export const AppManifestCompletion = z
  .strictObject({ code: text({ max: 200 }), state: text({ max: 200 }) })
  .meta({
    id: "AppManifestCompletion",
    description: "The parameters with which GitHub redirects the browser.",
  });
