export declare const client: { require(user: unknown, key: string): Promise<void> };
