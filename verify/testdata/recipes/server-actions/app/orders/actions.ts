"use server";

import { client } from "../../lib/client";
import { orderAction } from "../../lib/actions";

export const refundOrder = orderAction.inputSchema({ id: "string" }).action(async ({ parsedInput }) => parsedInput);

export async function readOrder(id: string) {
  await client.require(await client.user(), "shop.orders.read"); // gate
  return { id };
}

export { cancelOrder } from "./cancel";
