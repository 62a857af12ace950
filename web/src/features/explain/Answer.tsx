import { Link } from '@tanstack/react-router'
import { useAsk } from '../../api/queries.ts'
import type { Explained } from '../../api/schema.gen.ts'
import { picture, type Question, type Steps, steps } from '../../domain/explanation.ts'
import { parseSubject } from '../../domain/subjects.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { PathPicture } from '../../ui/Path.tsx'
import { Chain, Nearest, Ways } from './Lists.tsx'
import { Mend } from './Mend.tsx'
import { Others } from './Others.tsx'
import { Verdict } from './Verdict.tsx'

/** Says that nothing is known of a person, whose id may be a typing error. */
function Unknown({ org, question, steps: s }: { org: string; question: Question; steps: Steps }) {
  const { kind, id } = parseSubject(question.subject)
  const near = s.near
  const rows = s.routes.length + s.revokes.length + s.expired.length + (near?.lacking?.length ?? 0) + (near?.elsewhere?.length ?? 0) + (near?.notGrantable?.length ?? 0)
  const one = useAsk('GET /orgs/{org}/org/users/{id}', { path: { org, id } }, { on: kind === 'user' && rows === 0 })
  if (rows > 0 || one.data?.user.stored !== false) return null
  return <div className="note mind" role="alert"><p>{t.explain.unknown(visible(id))} <Link to="/orgs/$org/people" params={{ org }} search={{ q: id }}>{t.explain.elsewhere}</Link></p></div>
}

/** An explanation: the verdict, its picture, the same as a list, and what lies around it. */
export function Answer({ org, question, explained, own }: { org: string; question: Question; explained: Explained; own?: boolean }) {
  const found = steps(question, explained)
  const shown = found.routes.length > 0 || found.revokes.length > 0
  const drawing = picture(question, found, t.explain.direct)
  return (
    <div className="stack">
      {explained.notes?.map(n => <div className="note mind" key={n} role="alert"><p>{n}</p></div>)}
      {!own && <Unknown org={org} question={question} steps={found} />}
      <Verdict question={question} explained={explained} steps={found} />
      {shown && (
        <section className="card drawn" aria-hidden="true">
          <PathPicture picture={drawing} steps={found} />
          {drawing.more > 0 && <p className="small dim">{t.explain.more(drawing.more)}</p>}
        </section>
      )}
      <div className="columns explained">
        <div className="stack">
          <Ways org={org} question={question} steps={found} />
          {!explained.allowed && !own && <Mend org={org} question={question} steps={found} />}
          {!explained.allowed && <Nearest org={org} question={question} steps={found} />}
        </div>
        <div className="stack">
          <Chain steps={found} drawn={shown} />
          {!own && <Others org={org} question={question} />}
        </div>
      </div>
    </div>
  )
}
