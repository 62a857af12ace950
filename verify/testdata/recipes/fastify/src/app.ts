import Fastify from "fastify";
import { health } from "./health";
import { orders } from "./orders";

const app = Fastify();

app.register(health);
app.register(async (api) => {
  api.addHook("onRequest", api.authenticate); // gate
  api.register(orders, { prefix: "/orders" });
});
app.route({
  method: "GET",
  url: "/me",
  preHandler: [app.authenticate], // gate
  handler: async (request) => request.user,
});
