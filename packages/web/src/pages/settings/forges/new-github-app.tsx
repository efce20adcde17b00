import { AppManifestRequest } from "@outrider/contract/forge";
import type { AppManifest, AppManifestRequest as Request } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { outrider } from "../../../api.ts";
import { queries } from "../../../queries.ts";
import { Button, buttonClass } from "../../../ui/button.tsx";
import { Disclosure } from "../../../ui/disclosure.tsx";
import { Field, TextInput } from "../../../ui/form/field.tsx";
import { TextField } from "../../../ui/form/fields.tsx";
import { FormErrors } from "../../../ui/form/form-errors.tsx";
import { useRequestForm } from "../../../ui/form/use-request-form.ts";
import { Page, Section } from "../../../ui/page.tsx";

const route = getRouteApi("/frame/settings/forges/github-app/new");

/**
 * Starts the creation of a GitHub App. GitHub asks the user to confirm the app's settings, then redirects the browser to
 * the page that completes it.
 */
export function NewGitHubApp() {
  const { host, organization } = route.useSearch();
  const { data: me } = useQuery(queries.me());
  const url = host && (/^https?:\/\//i.test(host) ? host : `https://${host}`);
  const shownHost = url && URL.canParse(url) ? new URL(url).host : (host ?? "github.com");
  const form = useRequestForm({
    schema: AppManifestRequest,
    values: { url, organization } as { url: string | undefined; organization: string | undefined },
    send: (request: Request) => outrider.forges.createAppManifest(request),
    onSent: submitManifest,
  });
  if (me && me.role !== "admin")
    return <Page title="Create a GitHub App">Only admins can connect forges.</Page>;
  return (
    <Page title="Create a GitHub App">
      <Section
        title={`An app at ${shownHost}`}
        lead="The app belongs to you or your organization. Outrider acts as this app, with rights to code, pull requests, checks and workflow results of the repositories that you choose."
      >
        <form {...form.attributes} className="flex max-w-md flex-col gap-4">
          <TextField
            label="Organization"
            {...form.field("organization")}
            optional
            placeholder="acme"
            hint="The owner of the app. Default: your own account."
            spellCheck={false}
          />
          <FormErrors form={form} />
          <div className="flex flex-wrap gap-2">
            <Button type="submit" variant="primary" busy={form.isBusy || form.formState.isSubmitSuccessful}>
              Continue to {shownHost}
            </Button>
            <Link to="/settings" search={{ section: "forges" }} className={buttonClass()}>
              Cancel
            </Link>
          </div>
          <p className="text-xs text-muted">
            {shownHost} shows the app's settings. After you confirm them, you come back to this page.
          </p>
        </form>
      </Section>
      {!host && <OtherHost />}
    </Page>
  );
}

/** Loads the page again for another host, because the page may only send its form to the host in its URL. */
function OtherHost() {
  const [error, setError] = useState<string>();
  const check = (event: FormEvent<HTMLFormElement>) => {
    if (String(new FormData(event.currentTarget).get("host")).trim() !== "") return;
    event.preventDefault();
    setError("is required");
    event.currentTarget.querySelector("input")?.focus();
  };
  return (
    <Disclosure summary="GitHub Enterprise">
      <form
        method="get"
        action="/settings/forges/github-app/new"
        noValidate
        onSubmit={check}
        className="flex max-w-md items-end gap-2"
      >
        <Field label="Address" error={error} className="flex-1">
          {(parts) => (
            <TextInput
              {...parts}
              name="host"
              aria-required
              inputMode="url"
              placeholder="github.example.com"
              spellCheck={false}
            />
          )}
        </Field>
        <Button type="submit">Use this address</Button>
      </form>
    </Disclosure>
  );
}

/** Sends the manifest to GitHub, which only accepts it as a form. */
function submitManifest({ action_url, manifest }: AppManifest) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = action_url;
  const input = document.createElement("input");
  input.type = "hidden";
  input.name = "manifest";
  input.value = manifest;
  form.append(input);
  document.body.append(form);
  form.submit();
}
