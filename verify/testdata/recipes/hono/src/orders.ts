import { Hono } from "hono";

export const orders = new Hono()
  .get("/", (c) => c.json([]))
  .get("/:id", (c) => c.json({ id: c.req.param("id") }));
