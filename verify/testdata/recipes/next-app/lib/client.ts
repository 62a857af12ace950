export interface User {
  id: string;
}
export declare const client: {
  userOf(request: Request): Promise<User | null>;
  require(user: User | null, key: string): Promise<void>;
};
