export interface User {
  id: string;
}
export declare const client: {
  user(): Promise<User>;
  can(user: User, key: string): Promise<boolean>;
  require(user: User, key: string): Promise<void>;
};
export declare const base: {
  use(middleware: unknown): typeof base;
  inputSchema(schema: unknown): typeof base;
  action<T>(run: (given: { parsedInput: T; user: User }) => Promise<unknown>): unknown;
};
