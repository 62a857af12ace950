import { client } from "./client";
import { orderProcedure, publicProcedure, router } from "./trpc";

export const orders = router({
  list: orderProcedure.query(() => []),
  prices: publicProcedure.query(() => [1, 2]),
  refund: orderProcedure.input(String).mutation(async ({ ctx, input }) => {
    await client.require(ctx.user, "shop.orders.refund_order");
    return input;
  }),
});
