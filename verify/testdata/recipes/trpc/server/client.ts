export interface User {
  id: string;
}
export interface Context {
  user: User | null;
}
export declare const client: { require(user: User | null, key: string): Promise<void> };
