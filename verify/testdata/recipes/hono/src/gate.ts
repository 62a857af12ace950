import type { Context, Next } from "hono";
import { client } from "./client";

export const requireReader = async (c: Context, next: Next) => {
  if (!(await client.can(c.get("user"), "shop.orders.read"))) return c.json({ error: "forbidden" }, 403); // gate
  await next();
};
