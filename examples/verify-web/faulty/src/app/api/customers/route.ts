import { authz } from "../../../lib/authz";
import { db } from "../../../lib/db";

export async function GET(request: Request) {
  const user = await authz.user(request);
  await authz.require(user, "crm.customers.reed"); // planted: unknown-import
  await authz.require(user, "billing.invoices.read"); // planted: implicit-import
  return Response.json(await db.customers.all());
}

export const POST = async (request: Request) => // planted: ungated-action
  Response.json(await db.customers.create(await request.json()));
