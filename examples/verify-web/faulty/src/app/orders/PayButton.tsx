"use client";

import { pay } from "./actions";

export function PayButton() {
  return <button onClick={() => pay(process.env.PAYMENT_SECRET)}>Pay</button>; // planted: client-reachable-secret
}
