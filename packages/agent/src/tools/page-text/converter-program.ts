/** The program of a converter thread (see page-text.ts). */
import { serveJobs } from "../../threads/serve-jobs.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";

serveJobs(htmlToMarkdown);
