import { base, client } from "./client";

export const orderAction = base.use(async ({ next }: { next: (given: object) => unknown }) => {
  const user = await client.user();
  await client.require(user, "shop.orders.refund_order"); // gate
  return next({ user });
});
