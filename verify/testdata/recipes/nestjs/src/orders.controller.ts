import { Controller, Get, Post, UseGuards } from "@nestjs/common";
import { PermissionGuard, Public, RequirePermission } from "./guards";

@Controller("orders")
export class OrdersController {
  @Get()
  @UseGuards(PermissionGuard) // gate
  list() {
    return [];
  }

  @Post(":id/refund")
  @RequirePermission("shop.orders.refund_order") // gate
  refund() {
    return {};
  }

  @Public()
  @Get("prices")
  prices() {
    return [1, 2];
  }
}

@UseGuards(PermissionGuard) // gate
@Controller("returns")
export class ReturnsController {
  @Get()
  list() {
    return [];
  }
}
