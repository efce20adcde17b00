/** The program of a validator thread (see output-validator.ts). */
import { serveJobs } from "../../threads/serve-jobs.ts";
import { validate } from "./validate.ts";

serveJobs(validate);
