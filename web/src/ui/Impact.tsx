import type { ReactNode } from 'react'
import { type Effects, peopleOf } from '../domain/plans.ts'
import { t } from '../text/en.ts'
import { w } from '../text/writes.ts'
import { Id, ScopeName, SubjectName } from './Id.tsx'
import { Failed, Waiting } from './States.tsx'

interface Props {
  of: { data: Effects | undefined; error: unknown; refetch: () => unknown }
  /** What is said where nothing changes. */
  none?: string
  /** Tells a refusal of the change in another way, or null. */
  refused?: (failed: unknown) => ReactNode
}

const most = 100

/** Why a write waits for what it would change: it is being asked, or was refused. */
export const untilTold = (of: { data: unknown; error: unknown }) => (of.error ? w.refused : of.data ? null : t.state.waiting)

/** Whose answers a change would change, before it is made. */
export function Impact({ of, none = w.none, refused }: Props) {
  if (of.error) return refused?.(of.error) ?? <Failed of={of.error} retry={() => void of.refetch()} />
  if (!of.data) return <Waiting lines={2} />
  const { gained, lost, more, unknown, unresolved, untold, unasked, hidden } = of.data
  const all = [...lost, ...gained]
  return (
    <div className="stack close">
      {untold.length > 0 && <div className="note mind"><p>{w.untold(untold.map(u => u || w.theRoot))}</p></div>}
      {hidden && <div className="note mind"><p>{w.hidden} {t.needs(hidden)}</p></div>}
      <p>
        <strong>
          {lost.length > 0 && t.grants.loses(peopleOf(lost), lost.length, more)} {gained.length > 0 && t.give.reach(peopleOf(gained), gained.length, more)}
          {all.length === 0 && untold.length === 0 && !hidden && none}
        </strong>
      </p>
      {unknown.length > 0 && <p className="dim">{t.give.unlisted(unknown.join(', '))}</p>}
      {unresolved.length > 0 && <p className="dim">{t.give.unresolved(unresolved.length)}</p>}
      {unasked > 0 && <p className="dim">{w.unasked(unasked)}</p>}
      {all.length > 0 && (
        <ul className="list bounded" tabIndex={0} aria-label={w.title}>
          {all.slice(0, most).map(c => (
            <li className="effect" key={`${c.subject} ${c.key} ${c.scope}`}>
              <span className="grow"><span className={c.allowed ? 'tag yes' : 'tag no'}>{c.allowed ? t.give.gains : t.give.loses}</span> <SubjectName of={c.subject} /> <Id of={c.key} /></span>
              <span className="dim"><ScopeName of={c.scope} /></span>
            </li>
          ))}
        </ul>
      )}
      {all.length > most && <p className="small dim">{w.first(most)}</p>}
    </div>
  )
}
