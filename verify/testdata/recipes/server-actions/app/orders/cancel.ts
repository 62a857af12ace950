import { client } from "../../lib/client";

export async function cancelOrder(id: string) {
  const user = await client.user();
  if (!(await client.can(user, "shop.orders.refund_order"))) throw new Error("forbidden"); // gate
  return { id };
}
