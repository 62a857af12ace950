import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, ScopeName, SubjectName, Time } from '../../ui/Id.tsx'
import { Plan } from '../../ui/Plan.tsx'
import type { Reviewed } from './NewGrant.tsx'

const most = 100

/** What a grant would change, as the host tells it, before it is made. */
export function Review({ of: { input, impact, untold }, busy, onGive, onBack }: { org: string; of: Reviewed; busy: boolean; onGive: () => void; onBack: () => void }) {
  const gained = impact?.changes.filter(c => c.allowed) ?? []
  const lost = impact?.changes.filter(c => !c.allowed) ?? []
  const people = new Set(gained.map(c => c.subject)).size
  return (
    <section className="card stack" aria-label={t.give.reviewTitle}>
      <header><h2>{t.give.reviewTitle}</h2></header>
      <Plan
        steps={[{
          sign: '+',
          text: <>{input.roleId ? <>{t.explain.role} <Id of={input.roleId} /></> : <Id of={input.pattern ?? ''} />} {t.explain.to} <strong><SubjectName of={input.subject} /></strong> {t.explain.at} <ScopeName of={input.scope ?? '*'} />{input.expiresAt ? <> {t.give.until} <Time at={input.expiresAt} /></> : <span className="dim">, {t.give.forever}</span>}</>,
        }]}
      />
      {!impact && <div className="note mind"><p>{untold}</p></div>}
      {impact && (
        <div className="stack close">
          <p><strong>{gained.length === 0 && lost.length === 0 ? t.give.noChange : t.give.reach(people, gained.length, impact.more ?? false)}</strong></p>
          {(impact.unknown?.length ?? 0) > 0 && <p className="dim">{t.give.unlisted(impact.unknown!.join(', '))}</p>}
          {(impact.unresolved?.length ?? 0) > 0 && <p className="dim">{t.give.unresolved(impact.unresolved!.length)}</p>}
          <ul className="list bounded">
            {[...lost, ...gained].slice(0, most).map(c => (
              <li key={`${c.subject} ${c.key} ${c.scope}`}>
                <span className="grow"><span className={c.allowed ? 'tag yes' : 'tag no'}>{c.allowed ? t.give.gains : t.give.loses}</span> <SubjectName of={c.subject} /> <Id of={c.key} /></span>
                <span className="dim"><ScopeName of={c.scope} /></span>
              </li>
            ))}
          </ul>
          {impact.changes.length > most && <p className="small dim">{t.explain.first(most)}</p>}
        </div>
      )}
      <div className="row"><Button kind="main" busy={busy} onPress={onGive}>{t.give.submit}</Button><Button onPress={onBack}>{t.give.back}</Button></div>
    </section>
  )
}
