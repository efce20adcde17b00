import { invoice } from "./lib/invoice.js";

console.log(invoice([{ cents: 1000, country: "DE" }, { cents: 500, country: "XX" }]));
