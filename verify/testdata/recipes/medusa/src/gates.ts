import type { MedusaNextFunction, MedusaRequest, MedusaResponse } from "@medusajs/framework/http";
import { client } from "./client";

export async function mayRefund(req: MedusaRequest, res: MedusaResponse, next: MedusaNextFunction) {
  if (!(await client.can(req, "shop.orders.refund_order"))) return res.sendStatus(403); // gate
  next();
}
