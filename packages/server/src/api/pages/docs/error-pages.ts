import { STATUS_CODES } from "node:http";
import { type ErrorCode, errorCodes, errorEntry } from "@outrider/contract/errors/error";
import { operations, routes } from "@outrider/contract/routes";
import { createProblem } from "../../http/problem.ts";
import { BASE } from "../../http/request.ts";
import type { Assets } from "./assets.ts";
import { type Html, html, markCode, page } from "./html.ts";

const INDEX = "/docs/errors";
const exampleId = "019a86f2-3c5d-7e41-9b20-5d1f6a7c8e90";
const exampleTraceId = "4bf92f3577b34da6a3ce929d0e0e4736";

/** Returns the page that lists all error codes. */
export function errorIndexPage(assets: Assets): Html {
  return page({
    title: "Error codes · Outrider",
    address: INDEX,
    icon: assets.icon,
    styles: [assets.pageStyle, assets.errorsStyle],
    content: html`<main>
<h1>Error codes</h1>
<p class="lead">Handle errors by their code, which is stable within v1. HTTP responses with a status of 400 or more
contain it in <code>error_code</code>, and failed runs in <code>status_message.error_code</code>.</p>
<table>
<thead><tr>
<th scope="col">Code</th><th scope="col">Title</th><th scope="col">HTTP status</th>
<th scope="col">Retryable</th><th scope="col">On a run</th>
</tr></thead>
<tbody>
${errorCodes.map(indexRow)}
</tbody>
</table>
</main>`,
  });
}

function indexRow(code: ErrorCode): Html {
  const { status, title, retryable, onRun } = errorEntry(code);
  // On a phone the table has no header row, so each cell has its own label.
  return html`<tr>
<th scope="row"><a href="${INDEX}/${code}"><code>${code}</code></a></th>
<td>${markCode(title)}</td>
<td data-label="HTTP status">${status ?? "none"}</td>
<td data-label="Retryable">${yesOrNo(retryable)}</td>
<td data-label="On a run">${yesOrNo(onRun === true)}</td>
</tr>`;
}

function yesOrNo(answer: boolean): string {
  return answer ? "yes" : "no";
}

/** Returns the page for one error code, with its meaning and its remedy. */
export function errorPage(code: ErrorCode, assets: Assets): Html {
  const { status, title, retryable, meaning, remedy, onRun } = errorEntry(code);
  return page({
    title: `${code}: ${title} · Outrider`,
    address: `${INDEX}/${code}`,
    icon: assets.icon,
    styles: [assets.pageStyle, assets.errorsStyle],
    content: html`<main>
<p class="trail"><a href="${INDEX}">All error codes</a></p>
<h1><code>${code}</code></h1>
<p class="lead">${markCode(title)}</p>
<dl class="facts">
${fact("HTTP status", status ? statusLine(status) : "None. It only occurs on runs.")}
${fact("Retryable", retryable ? "Yes. The same request may succeed later." : "No. The same request will fail again.")}
${fact("On a run", onRun ? "Yes, in the `status_message` of a failed run." : "No. It only occurs in HTTP responses.")}
</dl>
<h2>Meaning</h2>
<p>${markCode(meaning)}</p>
<h2>What to do</h2>
<p>${markCode(remedy)}</p>
${status ? responseExample(code) : html``}
${onRun ? runExample(code) : html``}
<p class="trail"><a href="${INDEX}">All error codes</a> · <a href="/docs">API reference</a></p>
</main>`,
  });
}

function fact(name: string, text: string): Html {
  return html`<div><dt>${name}</dt><dd>${markCode(text)}</dd></div>`;
}

function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status]}`;
}

/** Builds an example with the function that builds real responses, so that the two cannot differ. */
function responseExample(code: ErrorCode): Html {
  const isInvalidField = code === "invalid_request";
  const detail = isInvalidField ? "`/prompt` is required." : errorEntry(code).meaning;
  const fieldErrors = isInvalidField ? [{ pointer: "/prompt", message: "is required" }] : [];
  const context = { origin: "https://outrider.example", path: examplePath(code), traceId: exampleTraceId };
  const { status, headers, body } = createProblem(code, detail, fieldErrors, context);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const text = [`HTTP/1.1 ${statusLine(status)}`, ...lines, "", JSON.stringify(body, null, 2)].join("\n");
  return html`<h2>Example response</h2>
<pre><code>${text}</code></pre>`;
}

/** Returns the path of an operation that can fail with the code. */
function examplePath(code: ErrorCode): string {
  const documented = operations.find(([, { errors }]) => errors.includes(code));
  const fallback = code === "resource_not_found" ? routes.getRun : routes.createRun;
  const { path } = documented?.[1] ?? fallback;
  return BASE + path.replace(/\{\w+\}/g, exampleId);
}

function runExample(code: ErrorCode): Html {
  const { meaning, remedy, retryable } = errorEntry(code);
  const run = {
    run_id: exampleId,
    state: "FAILED",
    status_message: { message: meaning, error_code: code, retryable, remedy },
  };
  return html`<h2>Example run</h2>
<pre><code>${JSON.stringify(run, null, 2)}</code></pre>`;
}
