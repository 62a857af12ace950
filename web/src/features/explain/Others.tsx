import { useState } from 'react'
import { useAsk } from '../../api/queries.ts'
import type { Question } from '../../domain/explanation.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { SubjectLink } from '../../ui/Id.tsx'
import { Loaded } from '../../ui/States.tsx'

const most = 50

/** Who else may do the same, asked only when somebody wants to know; at once where nobody is named. */
export function Others({ org, question, at = false }: { org: string; question: Question; at?: boolean }) {
  const [on, setOn] = useState(at)
  const holders = useAsk('GET /orgs/{org}/org/who-can', { path: { org }, query: { key: question.key, scope: question.scope, limit: most } }, { on })
  if (question.key.startsWith('cloud.')) return null
  return (
    <section className="card">
      <header><h2>{t.explain.others}</h2></header>
      {!on && <Button onPress={() => setOn(true)}>{t.explain.askOthers}</Button>}
      {on && (
        <Loaded of={holders} lines={4}>
          {page => page.subjects.length === 0 ? <p className="dim">{t.explain.nobody}</p> : (
            <>
              <ul className="list">
                {page.subjects.map(h => (
                  <li key={h.subject}><SubjectLink org={org} of={h.subject} />{h.implied && <span className="tag">{t.explain.implied}</span>}</li>
                ))}
              </ul>
              {page.nextCursor && <p className="small dim">{t.explain.first(most)}</p>}
            </>
          )}
        </Loaded>
      )}
    </section>
  )
}
