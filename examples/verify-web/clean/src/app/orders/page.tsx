import { authz } from "../../lib/authz";
import { RefundButton } from "./RefundButton";

export default async function Page() {
  const user = await authz.user();
  return (
    <main>
      <h1>Orders: can(&quot;shop.orders.nothing&quot;) is text here</h1>
      {(await authz.canAny(user, "shop.orders.*")) && <RefundButton visible={await authz.holds(user, "shop.orders.refund_order")} />}
    </main>
  );
}
