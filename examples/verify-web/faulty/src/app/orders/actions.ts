"use server";

import { authz } from "../../lib/authz";
import { payments } from "../../lib/payments";
import { db } from "../../lib/db";

export async function createOrder(form: FormData) {
  const user = await authz.user();
  await authz.require(user, "shop.orders.craete"); // planted: unknown-pattern
  return db.orders.create({ item: String(form.get("item")), by: user.id });
}

export async function cancelOrder(id: string) { // planted: ungated-action
  return db.orders.remove(id);
}

export async function refund(order: { id: string; store: string; amount: number }) {
  const user = await authz.user();
  await authz.require(user, "shop.orders.refund_order", `shop.store:${order.store}`, {}); // planted: missing-condition
  return payments.refund(order.id);
}

export async function listOrders() {
  const user = await authz.user();
  if (!(await authz.canAny(user, "shop.orders.*"))) return []; // planted: visibility-as-gate
  return db.orders.all();
}

// authz-verify-ignore-next-line ungated-action there is a gate by now; planted: stale-suppression
export async function updateSettings(settings: object) {
  const user = await authz.user();
  await authz.require(user, "shop.settings.*"); // planted: unknown-pattern
  return db.settings.write(settings);
}
