import { priceOrder } from "./price.js";
import { validateOrder } from "./validate.js";

export function placeOrder(order) {
  validateOrder(order);
  return priceOrder(order);
}
