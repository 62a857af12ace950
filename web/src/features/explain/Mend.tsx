import { Link } from '@tanstack/react-router'
import { holds } from '../../api/gates.ts'
import { useMe, useVocabulary } from '../../api/queries.ts'
import { homeOf } from '../../domain/catalog.ts'
import type { Question, Steps } from '../../domain/explanation.ts'
import { parseSubject } from '../../domain/subjects.ts'
import { t } from '../../text/en.ts'
import { Id, Name, ScopeName, SubjectLink } from '../../ui/Id.tsx'
import { Give } from './Lists.tsx'

/** What would allow it where something stands in the way that no grant outweighs, or ended. */
export function Mend({ org, question, steps: s }: { org: string; question: Question; steps: Steps }) {
  const words = useVocabulary()
  const me = useMe()
  const { kind, id } = parseSubject(question.subject)
  const ended = s.reason === 'expired' ? s.expired : []
  const person = s.reason === 'inactive' && kind === 'user'
  const revokes = s.reason === 'revoked' ? s.revokes : []
  if (!ended.length && !person && !revokes.length) return null
  return (
    <section className="card" aria-label={t.explain.inTheWay}>
      <header><h2>{t.explain.inTheWay}</h2></header>
      <ul className="list">
        {person && (
          <li>
            <span className="grow">{t.explain.activate} <SubjectLink org={org} of={question.subject} /></span>
            <Link className="button small" to="/orgs/$org/people/$id" params={{ org, id }} search={{ tab: 'manage' }}>{t.explain.toPerson}</Link>
          </li>
        )}
        {revokes.map(r => (
          <li key={r.id}>
            <span className="grow">{t.explain.endRevoke} <Id of={r.pattern} /> {t.explain.from} <SubjectLink org={org} of={question.subject} /> {r.scope === '*' ? t.everywhere : <>{t.explain.at} <ScopeName of={r.scope} /></>}</span>
            <Link className="button small" to="/orgs/$org/revokes" params={{ org }} search={{ open: r.id, home: homeOf(words.data, r.scope) }}>{t.explain.toRevoke}</Link>
          </li>
        ))}
        {ended.map(g => (
          <li key={g.id}>
            <span className="grow">{t.explain.renew} {g.roleId ? <>{t.explain.role} <Name of={g.roleId} /></> : <Id of={g.pattern ?? ''} />} {t.explain.to} <SubjectLink org={org} of={g.subject} /> {g.scope === '*' ? t.everywhere : <>{t.explain.at} <ScopeName of={g.scope} /></>}</span>
            <Give org={org} may={holds(me.data, 'authz_internal.access.manage_grants')} search={{ subject: g.subject, scope: g.scope, ...(g.roleId ? { role: g.roleId } : { pattern: g.pattern ?? '' }) }} />
          </li>
        ))}
      </ul>
    </section>
  )
}
