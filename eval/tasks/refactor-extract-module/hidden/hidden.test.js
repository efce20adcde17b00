import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { placeOrder } from "./order.js";
import { priceOrder } from "./price.js";
import { validateOrder } from "./validate.js";

const order = { items: [{ sku: "ABC-1", quantity: 2, cents: 1005 }], coupon: "TEN" };
test("behaves as before", () => {
  assert.deepEqual(placeOrder(order), { total: 1809, shipping: 490 });
  assert.throws(() => placeOrder({ items: [] }), /needs items/);
  assert.throws(() => placeOrder({ items: [{ sku: "abc", quantity: 1, cents: 1 }] }), /Invalid SKU: abc/);
});
test("validation is a module", () => {
  validateOrder(order);
  assert.throws(() => validateOrder({ items: [{ sku: "ABC-1", quantity: 0, cents: 1 }] }), /Invalid quantity: 0/);
});
test("pricing is a module", () => {
  assert.deepEqual(priceOrder({ items: [{ sku: "?", quantity: 1, cents: 5000 }] }), { total: 5000, shipping: 0 });
});
test("order.js only combines them", () => {
  const source = readFileSync("order.js", "utf8");
  assert.doesNotMatch(source, /coupon|SKU|490|isInteger/);
  for (const file of ["validate.js", "price.js"]) assert.doesNotMatch(readFileSync(file, "utf8"), /order\.js/);
});
