import { initTRPC, TRPCError } from "@trpc/server";
import { client, type Context } from "./client";

const t = initTRPC.context<Context>().create();

export const router = t.router;
export const publicProcedure = t.procedure;
export const orderProcedure = t.procedure.use(async ({ ctx, next }) => {
  if (!ctx.user) throw new TRPCError({ code: "UNAUTHORIZED" });
  await client.require(ctx.user, "shop.orders.read"); // gate
  return next();
});
