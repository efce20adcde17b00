export { placeOrder as priceOrder } from "./order.js";
