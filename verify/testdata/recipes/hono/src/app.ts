import { Hono } from "hono";
import { client } from "./client";
import { requireReader } from "./gate";
import { orders } from "./orders";
import { health } from "./health";

const app = new Hono();

app.route("/health", health);
app.use("/api/*", requireReader); // gate
app.route("/api/orders", orders);
app.post("/refunds", async (c) => {
  await client.require(c.get("user"), "shop.orders.refund_order"); // gate
  return c.json({}, 201);
});

export default app;
