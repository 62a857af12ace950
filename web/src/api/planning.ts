import { useQuery } from '@tanstack/react-query'
import { type Change, type Effects, together } from '../domain/plans.ts'
import { call } from './call.ts'
import { isFailure } from './errors.ts'
import { asking, queries, useMe, useOrg } from './queries.ts'
import type { Impact } from './schema.gen.ts'

const most = 6 // applications that are asked at once

/** Whom a change would give or take what. Nothing is written. Rows at scopes of an application
 *  are told by it; rows everywhere by the org root, or where that is hosted, by the members. */
export function useEffects(change: Change | null, application = '') {
  const org = useOrg()
  const root = useMe().data?.orgRoot
  return useQuery({
    queryKey: ['plan', { org, application, home: root?.home, change }],
    enabled: change !== null && root !== undefined,
    staleTime: Infinity, // a change of others marks it as old
    gcTime: 0,
    queryFn: async ({ signal }): Promise<Effects> => {
      let asked = [application]
      if (!application && root?.home === 'hosted') {
        const { applications } = await queries.ensureQueryData(asking('GET /orgs/{org}/applications', { path: { org }, query: { limit: 200 } }))
        asked = applications.filter(a => a.state === 'federated').map(a => a.id)
      }
      const told: Impact[] = []
      const untold: string[] = []
      let hidden = ''
      await Promise.all(
        asked.slice(0, most).map(async of => {
          const own = of || root?.application
          const without = change?.without?.filter(r => !r.home || r.home.kind === 'root' || (r.home.kind === 'application' && r.home.application === own)).map(r => r.id)
          if (!change?.with && !without?.length) return void untold.push(of) // no row of theirs
          try {
            told.push(await call('POST /orgs/{org}/org/plan', { path: { org }, body: { ...(of ? { application: of } : {}), ...(change?.with ? { with: change.with } : {}), ...(without?.length ? { without } : {}) } }, { signal }))
          } catch (failed) {
            if (isFailure(failed, 'forbidden')) hidden = String(failed.fields.permission ?? '')
            else if (!isFailure(failed, 'unsupported', 'no_org_root') && !(isFailure(failed) && asked.length > 1 && failed.status >= 500)) throw failed
            else untold.push(of)
          }
        }),
      )
      return { ...together(told, untold, Math.max(0, asked.length - most)), hidden }
    },
  })
}
