import yargs from "yargs";
import { paint } from "./paint.js";

// left-pad was used here before padStart existed.
console.log(paint(String(yargs(process.argv.slice(2)).argv.name).padStart(10)));
