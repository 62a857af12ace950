import { client, type User } from "./client";

type Handler = (request: Request, user: User) => Promise<Response>;

// Lets the handler run only for who has the permission.
export function withPermission(key: string, handler: Handler) {
  return async (request: Request) => {
    const user = await client.userOf(request);
    if (!user) return new Response(null, { status: 401 });
    await client.require(user, key);
    return handler(request, user);
  };
}

// Only measures.
export function withTiming(handler: (request: Request) => Promise<Response>) {
  return async (request: Request) => {
    const began = Date.now();
    const response = await handler(request);
    console.log(Date.now() - began);
    return response;
  };
}
