import { Link } from '@tanstack/react-router'
import { useVocabulary } from '../../api/queries.ts'
import type { Question, Steps } from '../../domain/explanation.ts'
import { namespaceOf } from '../../domain/scopes.ts'
import { parseSubject } from '../../domain/subjects.ts'
import { t } from '../../text/en.ts'
import { Id, Name, ScopeName, SubjectLink } from '../../ui/Id.tsx'

/** What would allow it where something stands in the way that no grant outweighs, or ended. */
export function Mend({ org, question, steps: s }: { org: string; question: Question; steps: Steps }) {
  const words = useVocabulary()
  const { kind, id } = parseSubject(question.subject)
  // Rows at a scope are kept by the application whose scope it is.
  const home = (scope: string) => words.data?.owners.get(namespaceOf(scope))
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
            <Link className="button small" to="/orgs/$org/revokes" params={{ org }} search={{ open: r.id, ...(home(r.scope) ? { home: home(r.scope)! } : {}) }}>{t.explain.toRevoke}</Link>
          </li>
        ))}
        {ended.map(g => (
          <li key={g.id}>
            <span className="grow">{t.explain.renew} {g.roleId ? <>{t.explain.role} <Name of={g.roleId} /></> : <Id of={g.pattern ?? ''} />} {t.explain.to} <SubjectLink org={org} of={g.subject} /> {g.scope === '*' ? t.everywhere : <>{t.explain.at} <ScopeName of={g.scope} /></>}</span>
            <Link className="button small" to="/orgs/$org/grants/new" params={{ org }} search={{ subject: g.subject, scope: g.scope, ...(g.roleId ? { role: g.roleId } : { pattern: g.pattern ?? '' }) }}>{t.explain.give}</Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
