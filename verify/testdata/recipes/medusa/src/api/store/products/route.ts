import type { MedusaRequest, MedusaResponse } from "@medusajs/framework/http";
import { client } from "../../../client";

export async function GET(req: MedusaRequest, res: MedusaResponse) {
  await client.require(req, "shop.orders.read"); // gate
  res.json({ products: [] });
}

export const POST = async (req: MedusaRequest, res: MedusaResponse) => res.status(201).json({});
