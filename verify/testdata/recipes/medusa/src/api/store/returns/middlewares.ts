import { mayRefund } from "../../../gates";

export const returnRoutes = [
  {
    matcher: "/store/returns",
    method: "POST", // gate: method: "GET",
    middlewares: [mayRefund], // gate
  },
];
