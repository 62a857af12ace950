import { type Answer, call, newKey } from './call.ts'
import { queries } from './queries.ts'

/** Looks through the eyes of a user or a role, or of oneself again: all that was read is read anew. */
export async function viewAs(org: string, as: Answer<'GET /orgs/{org}/me'>['viewAs']): Promise<void> {
  await call('POST /orgs/{org}/view-as', { path: { org }, body: { viewAs: as } }, { key: newKey() })
  await queries.resetQueries()
}
