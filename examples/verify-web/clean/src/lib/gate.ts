import { authz } from "./authz";

/** Refuses, or answers what the handler answers. */
export function withPermission<T>(permission: string, handler: () => Promise<T>): () => Promise<T> {
  return async () => {
    await authz.require(await authz.user(), permission); // a variable: judged when it runs
    return handler();
  };
}
