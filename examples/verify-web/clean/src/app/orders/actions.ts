"use server";

import { authz } from "../../lib/authz";
import { payments } from "../../lib/payments";
import { db } from "../../lib/db";

export async function createOrder(form: FormData) {
  const user = await authz.user();
  await authz.require(user, "shop.orders.create");
  return db.orders.create({ item: String(form.get("item")), by: user.id });
}

export async function refund(order: { id: string; store: string; amount: number }) {
  const user = await authz.user();
  // Refunds are allowed up to an amount: the key demands that the call says it.
  await authz.require(user, "shop.orders.refund_order", {
    scope: `shop.store:${order.store}`,
    condition: () => order.amount <= 500,
  });
  return payments.refund(order.id);
}

// authz-verify-ignore-next-line ungated-action the login itself cannot ask who is logged in
export async function signIn(form: FormData) {
  return authz.signIn(String(form.get("name")));
}
