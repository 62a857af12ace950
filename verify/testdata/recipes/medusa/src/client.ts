export declare const client: { can(user: unknown, key: string): Promise<boolean>; require(user: unknown, key: string): Promise<void> };
