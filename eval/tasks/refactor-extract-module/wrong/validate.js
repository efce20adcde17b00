export { placeOrder as validateOrder } from "./order.js";
