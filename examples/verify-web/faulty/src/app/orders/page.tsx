import { authz } from "../../lib/authz";

export default async function Page() {
  const user = await authz.user();
  const may = {
    create: await authz.can(user, "shop.orders.create"),
    customers: await authz.can(user, "crm.customers.read"),
  };
  return <main>{may.create ? "New order" : may.customers ? "Customers" : "Orders"}</main>;
}
