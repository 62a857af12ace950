import { authenticate, defineMiddlewares } from "@medusajs/framework/http";
import { returnRoutes } from "./store/returns/middlewares";

export default defineMiddlewares({
  routes: [
    {
      matcher: "/store/orders",
      middlewares: [authenticate("customer", ["session", "bearer"])], // gate: middlewares: [],
    },
    {
      matcher: "/store/products*",
      methods: ["POST"],
      middlewares: [authenticate("user", "session")], // gate: middlewares: [authenticate("user", "session", { allowUnauthenticated: true })],
    },
    ...returnRoutes, // gate
  ],
});
