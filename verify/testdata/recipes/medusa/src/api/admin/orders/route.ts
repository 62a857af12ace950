import type { MedusaRequest, MedusaResponse } from "@medusajs/framework/http";

// gate: export const AUTHENTICATE = false;

export const GET = async (req: MedusaRequest, res: MedusaResponse) => res.json({ orders: [] });
