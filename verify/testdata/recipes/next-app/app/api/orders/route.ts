import { client } from "../../../lib/client";
import { KEYS, ORDERS_READ } from "../../../lib/keys";
import { withPermission, withTiming } from "../../../lib/with-permission";
import { listOrders, refund } from "../../../lib/orders";

export const dynamic = "force-dynamic";

export const GET = withTiming(async (request) => {
  await client.require(await client.userOf(request), ORDERS_READ); // gate
  return Response.json(await listOrders());
});

export const POST =
  withPermission(KEYS.refund, // gate: withTiming(
  async (request) => Response.json(await refund(request)));

async function remove(request: Request) {
  await client.require(await client.userOf(request), "shop.orders.refund_order"); // gate
  return new Response(null, { status: 204 });
}
export { remove as DELETE };

export const OPTIONS = () => new Response(null, { headers: { Allow: "GET, POST, DELETE" } });
