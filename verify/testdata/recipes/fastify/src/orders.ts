import type { FastifyInstance } from "fastify";
import { client } from "./client";

export async function orders(app: FastifyInstance) {
  app.get("/", async () => []);
  app.post("/:id/refund", { preHandler: async (request) => client.require(request.user, "shop.orders.refund_order") }, async () => ({}));
}
