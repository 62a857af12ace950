export const GET = async (_: unknown, res: { sendStatus(code: number): void }) => res.sendStatus(200);
