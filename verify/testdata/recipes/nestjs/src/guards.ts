import { CanActivate, ExecutionContext, SetMetadata } from "@nestjs/common";

export class PermissionGuard implements CanActivate {
  canActivate(context: ExecutionContext) {
    return Boolean(context.switchToHttp().getRequest().user);
  }
}

export const RequirePermission = (key: string) => SetMetadata("permission", key);
export const Public = () => SetMetadata("public", true);
