import { Link } from "@tanstack/react-router";
import { Table, Td, Th } from "../../ui/table.tsx";

interface Bound {
  what: string;
  usual: string;
  where: string;
}

/** What holds unless the operator says otherwise; the API tells no values, so these are the defaults. */
const groups: { title: string; bounds: Bound[] }[] = [
  {
    title: "Runs",
    bounds: [
      { what: "Time for a turn", usual: "60 minutes", where: "OUTRIDER_TURN_TIMEOUT_MINUTES" },
      { what: "Model calls in a turn", usual: "200", where: "OUTRIDER_MAX_STEPS" },
      { what: "Tries when a worker is lost", usual: "3", where: "OUTRIDER_MAX_ATTEMPTS" },
      { what: "Waiting for a worker", usual: "24 hours", where: "OUTRIDER_QUEUE_TIMEOUT_HOURS" },
      { what: "Waiting for an answer", usual: "7 days", where: "OUTRIDER_BLOCKED_TIMEOUT_DAYS" },
      {
        what: "At work at once, in all",
        usual: "as many as the workers have slots",
        where: "OUTRIDER_MAX_CONCURRENT_RUNS",
      },
      { what: "Dollars a day, in all", usual: "no limit", where: "OUTRIDER_MAX_COST_USD_PER_DAY" },
    ],
  },
  {
    title: "Requests",
    bounds: [
      { what: "Body of a request", usual: "1 MiB, with attachments 16 MiB", where: "fixed" },
      { what: "Prompt or message", usual: "256 KiB", where: "fixed" },
      { what: "Requests of a key", usual: "6,000 a minute", where: "OUTRIDER_REQUESTS_PER_MINUTE" },
      { what: "Runs that a key creates", usual: "600 a minute", where: "OUTRIDER_CREATIONS_PER_MINUTE" },
    ],
  },
  {
    title: "Sign-in",
    bounds: [
      { what: "Tries of a password", usual: "10 in 15 minutes for an account", where: "fixed" },
      { what: "One-time link", usual: "24 hours, an invitation 7 days", where: "fixed" },
      { what: "Browser that is not used", usual: "14 days, at most 90 in all", where: "fixed" },
    ],
  },
];

export function Limits() {
  return (
    <>
      <p className="pb-4 text-muted">
        What Outrider enforces unless it was told otherwise. Whoever runs the server changes it in its
        environment, by the names on the right. A run, an{" "}
        <InlineLink to="/environments">environment</InlineLink>, a{" "}
        <InlineLink to="/agents">cloud agent</InlineLink> or a <InlineLink to="/keys">key</InlineLink> can
        have tighter ones.
      </p>
      {groups.map(({ title, bounds }) => (
        <section key={title} className="mb-6">
          <h2 className="pb-2 font-semibold">{title}</h2>
          <Table
            label={`Limits of ${title.toLowerCase()}`}
            head={
              <>
                <Th>What</Th>
                <Th>Default</Th>
                <Th className="max-md:hidden">Set by</Th>
              </>
            }
          >
            {bounds.map(({ what, usual, where }) => (
              <tr key={what}>
                <Td className="w-2/5">{what}</Td>
                <Td>
                  {usual}
                  {where !== "fixed" && (
                    <span className="block font-mono text-[11px] break-all text-muted md:hidden">
                      {where}
                    </span>
                  )}
                </Td>
                <Td className="text-xs text-muted max-md:hidden">
                  {where === "fixed" ? "Fixed" : <code className="font-mono">{where}</code>}
                </Td>
              </tr>
            ))}
          </Table>
        </section>
      ))}
    </>
  );
}

function InlineLink({ to, children }: { to: "/environments" | "/agents" | "/keys"; children: string }) {
  return (
    <Link to={to} className="text-accent-ink underline underline-offset-2">
      {children}
    </Link>
  );
}
