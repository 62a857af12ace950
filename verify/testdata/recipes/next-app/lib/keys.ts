export const ORDERS_READ = "shop.orders.read";
export const KEYS = { refund: "shop.orders.refund_order" } as const;
