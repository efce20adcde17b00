import { timingSafeEqual } from "node:crypto";

export function isCorrect(account, hash) {
  return timingSafeEqual(account.passwordHash, hash);
}
