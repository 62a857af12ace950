import { holds } from './gates.ts'
import type { MeAnswer } from './schema.gen.ts'

/** By which endpoints the reader may write a row: the organization's, which warn as well, or
 *  those of the application that keeps it; else the key that is missing. */
export function writer(me: MeAnswer | undefined, orgKey: string, application: string): { by: 'org' | 'application' | null; key: string } {
  if (holds(me, orgKey) === 'yes') return { by: 'org', key: orgKey }
  if (application && holds(me, 'cloud.applications.manage_access', 'cloud.app:' + application) === 'yes') return { by: 'application', key: 'cloud.applications.manage_access' }
  return { by: null, key: orgKey }
}
