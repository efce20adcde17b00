import { cleanUrl, emptyPreset, type ResolvePreset } from "./preset.ts";

/** The host for repositories that are specified as `owner/name`, over https and ssh. */
export const resolveGit: ResolvePreset = async ({ gitHost = "" }) => {
  const host = cleanUrl(gitHost);
  if (!host)
    return {
      ...emptyPreset,
      notices: ["preset:git allows nothing, because OUTRIDER_GIT_HOST of the server is not an https URL."],
    };
  return { ...emptyPreset, targets: [host.target, { host: host.target.host, port: 22 }] };
};
