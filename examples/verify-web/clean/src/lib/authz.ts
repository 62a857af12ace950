import { createClient } from "@example/authz-client";

export const authz = createClient({ url: process.env.AUTHZ_URL!, secret: process.env.AUTHZ_SECRET! });
