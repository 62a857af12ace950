import { client } from "../../lib/client";

export default function Page({ id }: { id: string }) {
  async function ship() {
    "use server";
    await client.require(await client.user(), "shop.orders.refund_order"); // gate
    return id;
  }
  return (
    <form action={ship}>
      <button>Ship</button>
    </form>
  );
}
