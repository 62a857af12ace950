import { Link } from '@tanstack/react-router'
import type { HomedGrant2 } from '../../api/schema.gen.ts'
import { parseSubject } from '../../domain/subjects.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Id } from '../../ui/Id.tsx'

/** What the host confirmed, and where to look at it. */
export function Done({ org, made: { grant, home, warnings }, onAgain }: { org: string; made: HomedGrant2; onAgain: () => void }) {
  const { kind, id } = parseSubject(grant.subject)
  const search = { subject: grant.subject, open: grant.id, ...(home.kind === 'application' ? { home: home.application } : {}) }
  return (
    <section className="card stack">
      <header><h2>{t.give.made}</h2></header>
      <p>{t.grants.id} <Id of={grant.id} /></p>
      {warnings?.map(w => <div className="note mind" key={w}><p>{visible(w)}</p></div>)}
      <div className="row">
        <Link className="button" to="/orgs/$org/grants" params={{ org }} search={search}>{t.give.show}</Link>
        {kind === 'user' && <Link className="button" to="/orgs/$org/people/$id" params={{ org, id }}>{t.give.person}</Link>}
        <Button onPress={onAgain}>{t.give.another}</Button>
      </div>
    </section>
  )
}
