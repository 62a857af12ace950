import { useAsk } from '../../api/queries.ts'
import type { OneUser } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { SubjectLink } from '../../ui/Id.tsx'
import { Loaded } from '../../ui/States.tsx'

/** Whom somebody belongs to: what is stored of them, and what follows from it. */
export function Memberships({ org, user }: { org: string; user: OneUser }) {
  const supply = useAsk('GET /orgs/{org}/org/subject-access', { path: { org }, query: { userId: user.userId } })
  const direct = user.groupIds.map(g => 'group:' + g)
  return (
    <Loaded of={supply}>
      {({ closure, managerChain }) => {
        const reached = closure.filter(s => s.startsWith('group:') && !direct.includes(s))
        const lists: Array<[string, string, string[]]> = [
          [t.person.direct, t.person.directHint, direct],
          [t.person.reached, t.person.reachedHint, reached],
          [t.person.orgs, t.person.orgsHint, user.orgIds.map(o => 'org:' + o)],
          [t.person.line, t.person.lineHint, managerChain.map(m => 'user:' + m)],
        ]
        return (
          <div className="columns">
            {lists.map(([title, hint, list]) => (
              <section className="card" key={title}>
                <header><h2>{title}</h2><span className="small dim">{list.length}</span></header>
                {list.length ? <ul className="list">{list.map(s => <li key={s}><SubjectLink org={org} of={s} /></li>)}</ul> : <p className="dim">{t.person.empty}</p>}
                <p className="small dim">{hint}</p>
              </section>
            ))}
          </div>
        )
      }}
    </Loaded>
  )
}
