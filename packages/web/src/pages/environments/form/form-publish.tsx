import { Disclosure } from "../../../ui/disclosure.tsx";
import { SelectField, TextField } from "../../../ui/form/fields.tsx";
import type { FormSectionProps } from "./form-section.tsx";
import {
  approvalLabels,
  baseMovedLabels,
  describePolicy,
  kindLabels,
  publishDefaults,
  whenLabels,
} from "./publish-values.ts";

interface FormPublishProps extends FormSectionProps {
  index: number;
  secrets: string[];
}

/** Edits what runs may publish to a repository. Empty fields use the default, which they show. */
export function FormPublish({ form, index, secrets }: FormPublishProps) {
  const name = `repos.${index}` as const;
  const [publish_publish, publish_when] = form.watch([`${name}.publish_publish`, `${name}.publish_when`]);
  const isNone = publish_publish === "none";
  return (
    <Disclosure
      summary={
        <>
          Publish <span className="font-normal">· {describePolicy({ publish_publish, publish_when })}</span>
        </>
      }
    >
      <div className="grid gap-2 sm:grid-cols-6">
        <SelectField
          compact
          label="Runs may publish"
          {...form.select(`${name}.publish_publish`)}
          fieldClassName="sm:col-span-2"
        >
          <Choices labels={kindLabels} fallback={publishDefaults.publish} />
        </SelectField>
        {!isNone && (
          <>
            <SelectField
              compact
              label="When"
              {...form.select(`${name}.publish_when`)}
              fieldClassName="sm:col-span-2"
            >
              <Choices labels={whenLabels} fallback={publishDefaults.when} />
            </SelectField>
            <SelectField
              compact
              label="Approval"
              {...form.select(`${name}.publish_approval`)}
              fieldClassName="sm:col-span-2"
            >
              <Choices labels={approvalLabels} fallback={publishDefaults.approval} />
            </SelectField>
            <TextField
              compact
              label="Base branch"
              {...form.field(`${name}.publish_base`)}
              placeholder="As checked out"
              spellCheck={false}
              fieldClassName="sm:col-span-2"
            />
            <TextField
              compact
              label="Branch prefix"
              {...form.field(`${name}.publish_branch_prefix`)}
              placeholder={publishDefaults.branch_prefix}
              spellCheck={false}
              fieldClassName="sm:col-span-2"
            />
            <SelectField
              compact
              label="If the base has new commits"
              {...form.select(`${name}.publish_on_base_moved`)}
              fieldClassName="sm:col-span-2"
            >
              <Choices labels={baseMovedLabels} fallback={publishDefaults.on_base_moved} />
            </SelectField>
            <TextField
              compact
              label="Protected paths"
              {...form.field(`${name}.publish_protected_paths`)}
              placeholder={publishDefaults.protected_paths.join(", ")}
              hint="Changes to these files are refused. Separate paths with commas; “none” protects nothing."
              spellCheck={false}
              fieldClassName="sm:col-span-3"
            />
            <TextField
              compact
              label="Paths that need approval"
              {...form.field(`${name}.publish_approval_paths`)}
              placeholder="scripts/ci/**, Makefile"
              hint="In addition to the files that CI systems execute."
              spellCheck={false}
              fieldClassName="sm:col-span-3"
            />
            <SelectField
              compact
              label="The agent follows up on"
              {...form.select(`${name}.publish_follow_up`)}
              hint="Comments of users who may write to the repository, and failed checks."
              fieldClassName="sm:col-span-6"
            >
              <option value="">Nothing (default)</option>
              <option value="comments">Review comments</option>
              <option value="checks">Failed checks</option>
              <option value="both">Review comments and failed checks</option>
            </SelectField>
            <Disclosure summary="Advanced" className="sm:col-span-6">
              <div className="grid gap-2 sm:grid-cols-2">
                <SelectField
                  compact
                  label="Uncommitted changes"
                  {...form.select(`${name}.publish_commit_uncommitted`)}
                >
                  <option value="">Publish as one commit (default)</option>
                  <option value="skip">Leave out</option>
                </SelectField>
                <TextField
                  compact
                  label="Maximum diff (MiB)"
                  {...form.field(`${name}.publish_max_diff_bytes`)}
                  placeholder={String(publishDefaults.max_diff_bytes / 1024 / 1024)}
                  inputMode="decimal"
                />
                <TextField
                  compact
                  label="Co-author of commits"
                  {...form.field(`${name}.publish_co_author`)}
                  placeholder="Name <name@example.com>"
                  spellCheck={false}
                />
                <SelectField compact label="Sign-off" {...form.select(`${name}.publish_sign_off`)}>
                  <option value="">None (default)</option>
                  <option value="add">Add Signed-off-by</option>
                </SelectField>
                <SelectField
                  compact
                  label="Signing key"
                  {...form.select(`${name}.publish_signing_secret`)}
                  hint="A secret with an SSH private key. It never enters a sandbox."
                >
                  <option value="">Commits are not signed</option>
                  {secrets.map((secret) => (
                    <option key={secret}>{secret}</option>
                  ))}
                </SelectField>
                <TextField
                  compact
                  label="Labels"
                  {...form.field(`${name}.publish_labels`)}
                  placeholder="agent, needs-review"
                />
                <TextField
                  compact
                  label="Reviewers"
                  {...form.field(`${name}.publish_reviewers`)}
                  placeholder="octocat"
                  spellCheck={false}
                />
              </div>
            </Disclosure>
          </>
        )}
      </div>
    </Disclosure>
  );
}

function Choices({ labels, fallback }: { labels: Record<string, string>; fallback: string }) {
  return (
    <>
      <option value="">{labels[fallback]} (default)</option>
      {Object.entries(labels)
        .filter(([value]) => value !== fallback)
        .map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
    </>
  );
}
