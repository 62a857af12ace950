import { authz } from "../../../lib/authz";
import { withPermission } from "../../../lib/gate";
import { db } from "../../../lib/db";

export async function GET(request: Request) {
  const user = await authz.user(request);
  if (!(await authz.can(user, ["shop.orders.read", "crm.customers.read"]))) {
    return new Response(null, { status: 403 });
  }
  return Response.json(await db.orders.all());
}

export const PUT = async (request: Request) => {
  const update = withPermission("shop.settings.update", async () => db.settings.write(await request.json()));
  return Response.json(await update());
};
